//! Where a file goes that a user names.
//!
//! | kernel | one operation |
//! |---|---|
//! | `output_destination` | what is at a path, which folder it is in, and that this is not one's own |
//!
//! Each command of `probe tokens` that writes what is to leave does so before it spends anything on
//! it. It is of the scratch folder and a name beside it, which nothing has; nothing is written. Paths
//! are those of the root, so the system looks for links at each name on the way, which a command that
//! is given relative ones does once less for each.

use std::hint::black_box;
use std::path::Path;

use super::experiment::{self, collect, Watch, WALL_AND_CPU};
use super::Surroundings;
use crate::kernel::{Case, Depth, Group, Unmeasured};
use crate::tokens::folder::destination_outside;

/// The case: only in full, as no operation of a profile is priced by it.
pub(super) fn cases(surroundings: &Surroundings) -> Vec<Case> {
    if surroundings.depth == Depth::Quick {
        return Vec::new();
    }
    let folder = surroundings.scratch.clone();
    let case = experiment::case(Group::Storage, KERNEL, &[], move |budget| {
        collect(budget, WALL_AND_CPU, || {
            let watch = Watch::thread();
            find(&folder)?;
            Ok(watch.per_operation(budget.clock, 1))
        })
    });
    vec![case]
}

fn find(folder: &Path) -> Result<(), Unmeasured> {
    let output = folder.join("..").join(NOTHING);
    let destination = destination_outside(folder, &output);
    let destination = destination.map_err(|error| Unmeasured::because(error.to_string()))?;
    black_box(destination);
    Ok(())
}

const KERNEL: &str = "output_destination";
/// The name of no file.
const NOTHING: &str = "pocketsim-probe-output";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_name_beside_a_folder_is_a_destination_and_nothing_is_written() {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join("own");
        fs::create_dir(&folder).expect("made");
        assert_eq!(find(&folder), Ok(()));
        assert_eq!(fs::read_dir(outer.path()).expect("there").count(), 1);
    }

    #[test]
    fn where_nothing_is_beside_is_the_reason() {
        let refused = find(Path::new("/")).expect_err("all lies in it");
        assert!(refused.0.contains("lies in the folder itself"), "{refused}");
        assert!(find(Path::new("/no/such/folder")).is_err());
    }
}
