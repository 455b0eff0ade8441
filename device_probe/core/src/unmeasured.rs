//! Why something was not measured: an error for people, that whoever measures may meet.
//!
//! What deliberately does not live here: what is measured ([`kernel`](crate::kernel)), and with which
//! clock, both of which fail with it.

use std::fmt;

/// Why a case was not measured, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmeasured(pub String);

impl Unmeasured {
    /// With a reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Unmeasured {}

impl From<std::io::Error> for Unmeasured {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}
