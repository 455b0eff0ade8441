//! Where a file goes that a user names, found out for the first time in a process.
//!
//! | kernel | one operation, in a process that is started for it |
//! |---|---|
//! | `output_destination` | what is at a path, which folder it is in, and that this is not one's own |
//!
//! Each command of `probe tokens` that writes what is to leave does so before it spends anything on
//! it. It is of the scratch folder and a name beside it, which nothing has; nothing is written. Paths
//! are those of the root, so the system looks for links at each name on the way, which a command that
//! is given relative ones does once less for each.

use std::ffi::OsString;
use std::fs;
use std::hint::black_box;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use super::once::{self, Operation};
use super::Surroundings;
use crate::kernel::{Case, Depth, Group, Unmeasured};
use crate::tokens::folder::destination_outside;

/// The case: only in full, as no operation of a profile is priced by it.
pub(super) fn cases(surroundings: &Surroundings) -> Vec<Case> {
    if surroundings.depth == Depth::Quick {
        return Vec::new();
    }
    let (folder, program) = (&surroundings.scratch, surroundings.program.as_deref());
    let path = folder.as_os_str().as_bytes().to_vec();
    let find = move || Ok(path.clone());
    vec![once::case(Group::Storage, KERNEL, &[], program, find)]
}

/// What such a process does with the path of a folder, ready to be timed; None of other kernels.
///
/// # Errors
/// A folder that cannot be read.
pub(super) fn operation(kernel: &str, found: &[u8]) -> Result<Option<Operation>, Unmeasured> {
    if kernel != KERNEL {
        return Ok(None);
    }
    let folder = PathBuf::from(OsString::from_vec(found.to_vec()));
    // A command has opened its folder by then, and looked into it.
    black_box(fs::read_dir(&folder)?.count());
    let output = folder.join("..").join(NOTHING);
    Ok(Some(Box::new(move || {
        let destination = destination_outside(&folder, &output);
        let destination = destination.map_err(|error| Unmeasured::because(error.to_string()))?;
        black_box(destination);
        Ok(())
    })))
}

const KERNEL: &str = "output_destination";
/// The name of no file.
const NOTHING: &str = "pocketsim-probe-output";

#[cfg(test)]
mod tests {
    use super::*;

    fn done(folder: &[u8]) -> Result<(), Unmeasured> {
        operation(KERNEL, folder)?.expect("known")()
    }

    #[test]
    fn a_name_beside_a_folder_is_a_destination_and_nothing_is_written() {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join("own");
        fs::create_dir(&folder).expect("made");
        assert_eq!(done(folder.as_os_str().as_bytes()), Ok(()));
        assert_eq!(fs::read_dir(outer.path()).expect("there").count(), 1);
    }

    #[test]
    fn where_nothing_is_beside_is_the_reason() {
        let refused = done(b"/").expect_err("all lies in it");
        assert!(refused.0.contains("lies in the folder itself"), "{refused}");
        assert!(done(b"/no/such/folder").is_err());
    }

    #[test]
    fn anything_else_is_none_of_it() {
        assert!(operation("sha256", b"/").is_ok_and(|none| none.is_none()));
    }
}
