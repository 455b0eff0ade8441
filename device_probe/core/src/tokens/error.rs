//! What ends a step with tokens early, sorted by whose it is.
//!
//! What a peer sent is never here: it is refused with a reason, and counted.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why nothing came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokensError {
    /// The user's mistake.
    Usage(String),
    /// A file of one's own folder is not as it was left.
    Damaged {
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The machine lacks something, or somebody else is at it.
    Environment(String),
}

impl TokensError {
    /// What the system says of a file that the user named.
    pub(super) fn named(path: &Path, error: &io::Error) -> Self {
        Self::Usage(format!("{}: {error}", path.display()))
    }

    /// What the system says of a file that should be there.
    pub(super) fn of(path: &Path, error: &io::Error) -> Self {
        Self::Environment(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for TokensError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(reason) | Self::Environment(reason) => formatter.write_str(reason),
            Self::Damaged { file, reason } => {
                write!(formatter, "{}: {reason}", file.display())
            }
        }
    }
}

impl std::error::Error for TokensError {}
