//! What the owner of a journal does with files, step by step, so that a test can crash between.
//!
//! The journal is appended to and synced; it is replaced by writing a new file
//! beside it and renaming that. Steps that follow a `Sync` may rely on it.
//!
//! What deliberately does not live here: files.

/// One step; the next begins when it has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskStep {
    /// Make an empty file, in the place of one of that name.
    Create(&'static str),
    /// Add bytes to the end of a file.
    Append(&'static str, Vec<u8>),
    /// Cut a file to that many bytes.
    Truncate(&'static str, usize),
    /// Wait until the content of a file is durable.
    Sync(&'static str),
    /// Give a file another name, in the place of one that has it.
    Rename(&'static str, &'static str),
    /// Wait until names are durable.
    SyncDirectory,
}

/// To make appended records durable; answers may leave afterwards.
pub fn append(bytes: Vec<u8>) -> [DiskStep; 2] {
    [DiskStep::Append(JOURNAL, bytes), DiskStep::Sync(JOURNAL)]
}

/// To put a whole file in the place of the journal, or to make the first one.
pub fn replace(bytes: Vec<u8>) -> [DiskStep; 5] {
    [
        DiskStep::Create(JOURNAL_NEW),
        DiskStep::Append(JOURNAL_NEW, bytes),
        DiskStep::Sync(JOURNAL_NEW),
        DiskStep::Rename(JOURNAL_NEW, JOURNAL),
        DiskStep::SyncDirectory,
    ]
}

/// To go on with a journal that was read back, before anything else is appended.
///
/// Names too: a process that died between renaming and syncing them leaves a name that is
/// seen and not durable.
pub fn recover(valid_bytes: usize) -> [DiskStep; 3] {
    [
        DiskStep::Truncate(JOURNAL, valid_bytes),
        DiskStep::Sync(JOURNAL),
        DiskStep::SyncDirectory,
    ]
}

/// Name of the journal.
pub const JOURNAL: &str = "tokens.journal";
/// Name of a journal that is being written; if one is found, it was never finished.
pub const JOURNAL_NEW: &str = "tokens.journal.new";
