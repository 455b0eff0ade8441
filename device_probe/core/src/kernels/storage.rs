//! Kernels of the group `storage`: files and SQLite, in the folder that the user gave.
//!
//! | kernel | one operation |
//! |---|---|
//! | `file_append` | one write at the end of a file, which the system keeps in memory for now |
//! | `file_append_fsync` | the same, then `fsync`: a file that grew has a new size to keep, so `fdatasync` would save little |
//! | `file_replace_fsync` | a file in the place of another of that name: written beside it, `fsync`, renamed, `fsync` of the folder |
//! | `file_create_fsync` | the same under a name that no file has: nothing goes away |
//! | `file_read` | one read at some place of a file that is in the page cache |
//! | `file_open_read` | a whole file by its name, from the page cache: opened, read, closed |
//! | `sqlite_insert_commit` | one row in a transaction of its own; `wal` says which journal |
//! | `sqlite_read` | one row by its key, from the page cache |
//!
//! Replacing, creating and opening are measured in full only, and there the first two and appending in
//! memory, too (`memory_file_append_fsync`): what the calls take without a disk. For
//! the others no folder is taken that is memory: no phone stores there. What deliberately does
//! not live here: reads from a cold cache, which take root to measure.

use std::path::{Path, PathBuf};

use super::Surroundings;
use crate::kernel::{Case, Depth, Group, Repeat, Unmeasured};

pub use scratch::filesystem_of;
use scratch::Scratch;

mod file;
mod scratch;
#[cfg(feature = "sqlite")]
mod sqlite;

/// Without the feature the cases are there all the same, and say why they are not measured.
#[cfg(not(feature = "sqlite"))]
mod sqlite {
    use super::{Path, Unmeasured};

    pub fn inserting(_: &Path, _: usize, _: bool) -> Result<Never, Unmeasured> {
        Err(Unmeasured::because("built without SQLite"))
    }

    pub fn reading(folder: &Path, bytes: usize) -> Result<Never, Unmeasured> {
        inserting(folder, bytes, false)
    }

    type Never = fn() -> Result<(), Unmeasured>;
}

/// The cases of this group.
pub fn cases(surroundings: &Surroundings) -> Vec<Case> {
    let folder = &surroundings.scratch;
    let sizes: &[usize] = match surroundings.depth {
        Depth::Quick => &[668],
        Depth::Full => &[287, 668, 4_096, 65_536],
    };
    let is_full = surroundings.depth == Depth::Full;
    // No operation of a profile is priced by these.
    let in_full: &[usize] = if is_full { sizes } else { &[] };
    sizes
        .iter()
        .flat_map(|&bytes| file_cases(folder, bytes))
        .chain(in_full.iter().flat_map(|&bytes| whole_cases(folder, bytes)))
        .chain(sizes.iter().flat_map(|&bytes| sqlite_cases(folder, bytes)))
        .collect()
}

fn file_cases(folder: &Path, bytes: usize) -> [Case; 3] {
    let size = [("bytes", bytes as f64)];
    [
        case("file_append", size, folder, move |folder| {
            file::appending(Scratch::new(folder)?, bytes, false)
        }),
        case("file_append_fsync", size, folder, move |folder| {
            file::appending(Scratch::new(folder)?, bytes, true)
        }),
        case("file_read", size, folder, move |folder| {
            file::reading(Scratch::new(folder)?, bytes)
        }),
    ]
}

fn whole_cases(folder: &Path, bytes: usize) -> [Case; 6] {
    let (size, memory) = ([("bytes", bytes as f64)], Path::new(MEMORY_FOLDER));
    [
        case("file_replace_fsync", size, folder, move |folder| {
            file::replacing(Scratch::new(folder)?, bytes)
        }),
        case("file_create_fsync", size, folder, move |folder| {
            file::creating(Scratch::new(folder)?, bytes)
        }),
        case("file_open_read", size, folder, move |folder| {
            file::opening(Scratch::new(folder)?, bytes)
        }),
        case("memory_file_append_fsync", size, memory, move |memory| {
            file::appending(Scratch::in_memory(memory)?, bytes, true)
        }),
        case("memory_file_replace_fsync", size, memory, move |memory| {
            file::replacing(Scratch::in_memory(memory)?, bytes)
        }),
        case("memory_file_create_fsync", size, memory, move |memory| {
            file::creating(Scratch::in_memory(memory)?, bytes)
        }),
    ]
}

fn sqlite_cases(folder: &Path, bytes: usize) -> [Case; 3] {
    let size = ("bytes", bytes as f64);
    let insert = |wal: bool| {
        let parameters = [size, ("wal", f64::from(u8::from(wal)))];
        case("sqlite_insert_commit", parameters, folder, move |folder| {
            sqlite::inserting(folder, bytes, wal)
        })
    };
    let read = case("sqlite_read", [size], folder, move |folder| {
        sqlite::reading(folder, bytes)
    });
    [insert(true), insert(false), read]
}

fn case<const N: usize, R: Repeat + 'static>(
    kernel: &'static str,
    parameters: [(&'static str, f64); N],
    folder: &Path,
    make: impl Fn(&Path) -> Result<R, Unmeasured> + Send + Sync + 'static,
) -> Case {
    let folder: PathBuf = folder.to_owned();
    Case::repeat(Group::Storage, kernel, parameters, move || make(&folder))
}

/// Linux: files that no disk ever has (tmpfs(5)). Android has no such folder.
const MEMORY_FOLDER: &str = "/dev/shm";
