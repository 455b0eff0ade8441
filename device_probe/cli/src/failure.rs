//! What ends the command early, sorted by whose it is.

use std::fmt::Display;
use std::process::ExitCode;

use crate::say::say;

/// A failure with its exit code; one line on stderr, no traceback.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    /// The user's mistake: exit 2.
    pub fn usage(text: impl Display) -> Self {
        Self::new(2, text)
    }

    /// A check that did not hold: exit 3.
    pub fn check(text: impl Display) -> Self {
        Self::new(3, text)
    }

    /// The machine or the network lacks something: exit 5.
    pub fn environment(text: impl Display) -> Self {
        Self::new(5, text)
    }

    fn new(code: u8, text: impl Display) -> Self {
        Self {
            code,
            text: text.to_string(),
        }
    }

    /// Say why, and give the exit code.
    pub fn report(&self) -> ExitCode {
        say(format_args!("probe: {}", self.text));
        ExitCode::from(self.code)
    }
}
