//! Where stored blocks go: nowhere, or to the end of a file that has no name.
//!
//! Keys live as long as the process, so a chain that outlives it would be nobody's; what counts is
//! that appending costs what it costs. The name is taken away as soon as the file is open, so that
//! nothing is left behind however the process ends. It grows to a limit, since whoever dials decides
//! how much there is to store.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

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
#[derive(Debug)]
pub struct Store {
    file: Option<File>,
    fsync: bool,
    written_bytes: u64,
    limit_bytes: u64,
    failures: u64,
}

impl Default for Store {
    /// Nowhere.
    fn default() -> Self {
        Self {
            file: None,
            fsync: false,
            written_bytes: 0,
            limit_bytes: LIMIT_BYTES,
            failures: 0,
        }
    }
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
        std::fs::remove_file(&path)?;
        Ok(Self::on(file, storage))
    }

    /// Append to `file`, and wait for the disk if `storage` does.
    pub fn on(file: File, storage: Storage) -> Self {
        Self {
            file: Some(file),
            fsync: storage == Storage::Fsync,
            ..Self::default()
        }
    }

    /// The file gets no longer than this.
    pub fn limited_to(self, limit_bytes: u64) -> Self {
        Self {
            limit_bytes,
            ..self
        }
    }

    /// Whether so many bytes more are within the limit.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.file.is_none() || self.written_bytes.saturating_add(bytes) <= self.limit_bytes
    }

    /// Store one block, and whether that went well; what the disk refuses, or has no room within the
    /// limit, is counted, as the trade goes on without it.
    pub fn append(&mut self, block: &[u8]) -> bool {
        let bytes = block.len() as u64;
        if !self.has_room(bytes) {
            self.failures += 1;
            return false;
        }
        let Some(file) = &mut self.file else {
            return true;
        };
        // Also if it fails: it may be there in part.
        self.written_bytes += bytes;
        let written = file.write_all(block).and_then(|()| match self.fsync {
            true => file.sync_data(),
            false => Ok(()),
        });
        self.failures += u64::from(written.is_err());
        written.is_ok()
    }

    /// Whether storing a block may wait for a disk.
    pub fn is_on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// Blocks that the disk refused.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> u64 {
        let file = self.file.as_ref();
        file.and_then(|file| file.metadata().ok())
            .map_or(0, |data| data.len())
    }
}

/// The throughput thesis's ladder with its payload of 100 B makes 170 MB, and a phone has this much.
pub const LIMIT_BYTES: u64 = 1_000_000_000;
