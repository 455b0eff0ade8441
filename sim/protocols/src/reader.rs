//! Binary formats are read from the front, and end where they should.
//!
//! What deliberately does not live here: any format.

use std::fmt;

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

/// Bytes that are taken from the front.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `count` bytes.
    ///
    /// # Errors
    /// When there are not as many left; nothing is taken then.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or(Malformed("ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// Those of [`Reader::take`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// A big-endian number of 4 bytes.
    ///
    /// # Errors
    /// Those of [`Reader::take`].
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A big-endian number of 8 bytes.
    ///
    /// # Errors
    /// Those of [`Reader::take`].
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// As many bytes as the number before them says.
    ///
    /// # Errors
    /// Those of [`Reader::take`].
    pub fn sized(&mut self) -> Result<&'a [u8], Malformed> {
        let count = self.u32()?;
        self.take(count as usize)
    }

    /// That nothing is left.
    ///
    /// # Errors
    /// When something is.
    pub fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed("goes on behind its end"))
        }
    }
}
