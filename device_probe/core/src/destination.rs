//! Where the file goes that a user names: what is there already, and what a symbolic link leads to.
//!
//! What deliberately does not live here: what is written, and under which name until it is whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Where output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file that appears when it is complete: written beside its place, then renamed.
    File(PathBuf),
    /// What is there and no file: a pipe, a terminal, `/dev/stdout`. A rename would replace it.
    Other(PathBuf),
}

impl Destination {
    /// A symbolic link is followed, as far as it leads to something.
    ///
    /// # Errors
    /// A folder, a link to nothing, or what the system says of the path.
    pub fn of(path: &Path) -> io::Result<Self> {
        match path.metadata() {
            Ok(there) if there.is_dir() => Err(io::Error::other("a folder; name a file in it")),
            Ok(there) if there.is_file() => Ok(Self::File(path.canonicalize()?)),
            Ok(_) => Ok(Self::Other(path.to_owned())),
            Err(_) if path.is_symlink() => Err(io::Error::other(
                "a symbolic link to nothing; name what it should lead to",
            )),
            Err(_) => Ok(Self::File(path.to_owned())),
        }
    }

    /// What is behind links.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Other(path) => path,
        }
    }

    /// Give it what is in the file `whole`, which is beside it and goes away.
    ///
    /// # Errors
    /// What the system says; `whole` is there still.
    pub fn take(&self, whole: &Path) -> io::Result<()> {
        match self {
            Self::File(path) => fs::rename(whole, path),
            Self::Other(path) => {
                let mut other = File::options().write(true).open(path)?;
                io::copy(&mut File::open(whole)?, &mut other)?;
                fs::remove_file(whole)
            }
        }
    }
}
