//! Where stored blocks go: nowhere, or to the end of a file that is gone when the trade is over.
//!
//! Keys live as long as the process, so a chain that outlives it would be nobody's; what counts is
//! that appending costs what it costs.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pocketsim_protocols::named_enum;

named_enum! {
    /// What storing a block does.
    Storage {
        /// Only the head of the chain is kept.
        Memory = "memory",
        /// Append the block to a file.
        Append = "append",
        /// Append it and wait until the disk has it.
        Fsync = "fsync",
    }
}

/// An open store.
#[derive(Debug, Default)]
pub struct Store {
    file: Option<(File, PathBuf)>,
    fsync: bool,
    failures: u64,
}

impl Store {
    /// Open a file of its own in `folder`, if `storage` needs one.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn open(storage: Storage, folder: &Path) -> io::Result<Self> {
        if storage == Storage::Memory {
            return Ok(Self::default());
        }
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let name = format!("probe-trade-{:016x}.blocks", u64::from_be_bytes(name));
        let path = folder.join(name);
        let mut options = File::options();
        let file = options.append(true).create_new(true).open(&path)?;
        Ok(Self {
            file: Some((file, path)),
            fsync: storage == Storage::Fsync,
            failures: 0,
        })
    }

    /// Store one block; what the disk refuses is counted, as the trade goes on without it.
    pub fn append(&mut self, block: &[u8]) {
        if let Some((file, _)) = &mut self.file {
            let written = file.write_all(block).and_then(|()| match self.fsync {
                true => file.sync_data(),
                false => Ok(()),
            });
            self.failures += u64::from(written.is_err());
        }
    }

    /// Blocks that the disk refused.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> u64 {
        let file = self.file.as_ref();
        file.and_then(|(file, _)| file.metadata().ok())
            .map_or(0, |data| data.len())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.file {
            // Nothing can be done about a file that is gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}
