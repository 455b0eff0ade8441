//! A text as a QR code: only its modules, the app draws them.

use qrcode::{Color, QrCode};

/// Rows of the square, dark modules true, without the white margin.
///
/// # Errors
/// A text that is too long for any code.
pub fn modules(text: &[u8]) -> Result<Vec<Vec<bool>>, String> {
    let code = QrCode::new(text).map_err(|error| error.to_string())?;
    let rows = code
        .to_colors()
        .chunks(code.width())
        .map(|row| row.iter().map(|module| *module == Color::Dark).collect())
        .collect();
    Ok(rows)
}
