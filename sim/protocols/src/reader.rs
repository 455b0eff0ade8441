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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other_to_the_end() {
        let bytes = [0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0, 0, 1, 0, 9];
        let mut reader = Reader(&bytes);
        assert_eq!(reader.sized(), Ok(&[7, 8][..]));
        assert_eq!(reader.u64(), Ok(256));
        assert!(reader.end().is_err());
        assert_eq!(reader.array(), Ok([9]));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn what_is_not_there_is_not_taken() {
        let mut reader = Reader(&[0, 0, 0]);
        assert!(reader.u32().is_err() && reader.u64().is_err() && reader.take(4).is_err());
        assert_eq!(reader.take(3), Ok(&[0, 0, 0][..]));
        let mut short = Reader(&[0, 0, 0, 9, 1]);
        assert!(
            short.sized().is_err(),
            "a size that promises more than there is"
        );
        assert!(Reader(&u32::MAX.to_be_bytes()).sized().is_err());
    }
}
