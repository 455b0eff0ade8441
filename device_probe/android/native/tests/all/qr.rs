//! The modules of a QR code, by what every code has: three finder patterns.

use probe::qr::modules;

#[test]
fn a_code_is_square_and_has_its_finders() {
    let rows = modules(b"pocketsim-probe://trade/192.168.1.20:7400").expect("it fits");
    let side = rows.len();
    assert!(rows.iter().all(|row| row.len() == side));
    // Sizes of ISO 18004: 21 modules and four more for each version.
    assert_eq!((side - 17) % 4, 0);
    for (top, left) in [(0, 0), (0, side - 7), (side - 7, 0)] {
        let row = |down: usize| -> String {
            (0..7)
                .map(|right| {
                    if rows[top + down][left + right] {
                        '#'
                    } else {
                        '.'
                    }
                })
                .collect()
        };
        assert_eq!(row(0), "#######");
        assert_eq!(row(1), "#.....#");
        assert_eq!(row(3), "#.###.#");
    }
}

#[test]
fn another_text_is_another_code() {
    assert_ne!(modules(b"a:1"), modules(b"a:2"));
}

#[test]
fn a_text_that_no_code_holds_is_refused() {
    assert!(modules(&[b'x'; 5_000]).is_err());
}
