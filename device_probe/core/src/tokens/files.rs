//! The file operations that money depends on, one by one, so that a test can end the process
//! between any two.
//!
//! What deliberately does not live here: which file is what, and in which order they change.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What is done to files; each operation has ended when it returns.
pub trait Files {
    /// Make an empty file that only its owner may read, in the place of one of that name.
    ///
    /// # Errors
    /// What the system says, as for all of these.
    fn create(&self, path: &Path) -> io::Result<()>;

    /// Add bytes to the end of a file.
    ///
    /// # Errors
    /// What the system says.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Cut a file to that many bytes.
    ///
    /// # Errors
    /// What the system says.
    fn truncate(&self, path: &Path, bytes: u64) -> io::Result<()>;

    /// Wait until the content of a file is durable.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&self, path: &Path) -> io::Result<()>;

    /// Give a file another name, in the place of one that has it.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Wait until the names in a folder are durable.
    ///
    /// # Errors
    /// What the system says.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Put a whole file in the place of `path`: there is always one of the two.
    ///
    /// # Errors
    /// What the system says.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let new = beside(path);
        self.create(&new)?;
        self.append(&new, bytes)?;
        self.sync(&new)?;
        self.rename(&new, path)?;
        self.sync_directory(&folder_of(path))
    }
}

/// The files of this device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn create(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Exclusively: nobody's symbolic link is followed.
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(OWNER_ONLY);
        options.open(path).map(drop)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).open(path)?;
        file.write_all(bytes)
    }

    fn truncate(&self, path: &Path, bytes: u64) -> io::Result<()> {
        OpenOptions::new().write(true).open(path)?.set_len(bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

/// Where a file is while it is written.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    // Not a name that a user may have given to something.
    name.push(".probe-new");
    name.into()
}

/// The folder that a file is in, also if only its name was given.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Keys and tokens are nobody else's business.
const OWNER_ONLY: u32 = 0o600;
