//! Kernels of the group `storage`: files and SQLite, in the folder that the user gave.
//!
//! | kernel | one operation |
//! |---|---|
//! | `file_append` | one write at the end of a file, which the system keeps in memory for now |
//! | `file_append_fsync` | the same, then `fsync`: a file that grew has a new size to keep, so `fdatasync` would save little |
//! | `file_read` | one read at some place of a file that is in the page cache |
//! | `sqlite_insert_commit` | one row in a transaction of its own; `wal` says which journal |
//! | `sqlite_read` | one row by its key, from the page cache |
//!
//! Nothing is measured in a folder that is memory: no phone stores there. What deliberately does
//! not live here: reads from a cold cache, which take root to measure.

use std::path::{Path, PathBuf};

use super::Surroundings;
use crate::kernel::{Case, Depth, Group, Repeat, Unmeasured};

pub use scratch::filesystem_of;

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
    sizes
        .iter()
        .flat_map(|&bytes| file_cases(folder, bytes))
        .chain(sizes.iter().flat_map(|&bytes| sqlite_cases(folder, bytes)))
        .collect()
}

fn file_cases(folder: &Path, bytes: usize) -> [Case; 3] {
    let size = [("bytes", bytes as f64)];
    [
        case("file_append", size, folder, move |folder| {
            file::appending(folder, bytes, false)
        }),
        case("file_append_fsync", size, folder, move |folder| {
            file::appending(folder, bytes, true)
        }),
        case("file_read", size, folder, move |folder| {
            file::reading(folder, bytes)
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
