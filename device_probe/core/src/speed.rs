//! How fast this core is at the moment, and a disk: what a signature and a check take, within some
//! 30 ms, and files that are written.
//!
//! A shared computer may be half as fast again a second later. Who times something for less than
//! that learns here what the same operations took just before and after. So does who writes files: a
//! disk may take longer after thousands of files that came and went, as in kernels of a report, than
//! after few (docs/validation.md, "Tokens on this host"). What deliberately does not live here: how an
//! operation is priced, which takes a report.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::kernel::{Depth, Repeat, Unmeasured, Work};
use crate::kernels::{crypto, storage, Surroundings};
use crate::tokens::files::{Disk, Files as _};

/// Means, in seconds, of signatures over as many bytes as a minted token's proof.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// Of making one, as the kernel `ed25519_sign` does.
    pub sign_s: f64,
    /// Of checking one, as the kernel `ed25519_verify` does.
    pub check_s: f64,
}

/// Time both, one after the other.
///
/// # Errors
/// What a kernel refuses.
pub fn measure() -> Result<Speed, Unmeasured> {
    both(mean_s)
}

fn both(mean_s: impl Fn(&str) -> Result<f64, Unmeasured>) -> Result<Speed, Unmeasured> {
    Ok(Speed {
        sign_s: mean_s("ed25519_sign")?,
        check_s: mean_s("ed25519_verify")?,
    })
}

/// What a file of some size takes that is written to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FileSpeed {
    /// The kernel that does the same.
    pub kernel: &'static str,
    /// How long the file is, or what is appended to it.
    pub bytes: usize,
    /// Median, in seconds.
    pub median_s: f64,
}

/// Time files of two sizes that are appended to, created and replaced in a folder on a disk.
///
/// In turns, and few of each: see above.
///
/// # Errors
/// A folder that is memory or cannot be written; what the disk says.
pub fn measure_files(folder: &Path) -> Result<Vec<FileSpeed>, Unmeasured> {
    let cases = storage::cases(&Surroundings {
        depth: Depth::Full,
        scratch: folder.to_owned(),
        peer: None,
        program: None,
    });
    let mut timed = Vec::new();
    for case in cases {
        let bytes = case.parameters.get("bytes").map(|bytes| *bytes as usize);
        let bytes = bytes.filter(|bytes| FILE_BYTES.contains(bytes));
        if let (true, Some(bytes)) = (FILE_KERNELS.contains(&case.kernel), bytes) {
            let mut operation = repeated(case.work)?;
            operation.run(1)?; // the first finds cold caches
            timed.push((case.kernel, bytes, operation, Vec::new()));
        }
    }
    for _ in 0..FILES {
        for (_, _, operation, took_s) in &mut timed {
            let begun = Instant::now();
            operation.run(1)?;
            took_s.push(begun.elapsed().as_secs_f64());
        }
    }
    let speed = |(kernel, bytes, _, mut took_s): (_, _, _, Vec<f64>)| {
        took_s.sort_by(f64::total_cmp);
        FileSpeed {
            kernel,
            bytes,
            median_s: took_s[FILES / 2],
        }
    };
    let found = timed.into_iter().map(speed).collect();
    // What was removed is not to be left to whoever waits for the disk next.
    Disk.sync_directory(folder)?;
    Ok(found)
}

fn mean_s(kernel: &str) -> Result<f64, Unmeasured> {
    let mut operation = made(kernel)?;
    // What a process does first finds cold caches, and pages that are not there.
    operation.run(WARM_UP)?;
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < LASTS {
        operation.run(ITERATIONS)?;
        count += ITERATIONS;
    }
    Ok(begun.elapsed().as_secs_f64() / count as f64)
}

fn made(kernel: &str) -> Result<Box<dyn Repeat>, Unmeasured> {
    let cases = crypto::cases(Depth::Quick).into_iter();
    let case = cases
        .filter(|case| case.kernel == kernel)
        .find(|case| case.parameters.get("bytes") == Some(&(crypto::MINT_BYTES as f64)));
    repeated(case.expect("every run has it").work)
}

fn repeated(work: Work) -> Result<Box<dyn Repeat>, Unmeasured> {
    match work {
        Work::Repeat(make) => make(),
        Work::Experiment(_) => unreachable!("signatures and files are repeated"),
    }
}

const LASTS: Duration = Duration::from_millis(12);
/// Over all that a kernel takes in turn.
const WARM_UP: u64 = 64;
/// Long beside the reading of a clock.
const ITERATIONS: u64 = 4;
const FILE_KERNELS: [&str; 3] = [
    "file_append_fsync",
    "file_create_fsync",
    "file_replace_fsync",
];
/// The least and the most of the kernels' sizes but for a token of one recipient.
const FILE_BYTES: [usize; 2] = [668, 65_536];
/// Odd, and enough for a median that one interruption does not move.
const FILES: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_and_a_check_are_of_their_own_kernels_and_take_time() {
        let told = |kernel: &str| match kernel {
            "ed25519_sign" => Ok(1.0),
            "ed25519_verify" => Ok(2.0),
            other => panic!("{other}"),
        };
        let speed = both(told).expect("told");
        assert_eq!((speed.sign_s, speed.check_s), (1.0, 2.0));
        let speed = measure().expect("measured");
        assert!(speed.sign_s > 0.0 && speed.check_s > 0.0);
    }

    #[test]
    fn files_of_two_sizes_are_timed_and_go_away() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let found = match measure_files(folder.path()) {
            Ok(found) => found,
            Err(reason) => {
                // A checkout in memory.
                assert!(reason.0.contains("is memory and no storage"), "{reason}");
                return;
            }
        };
        assert_eq!(found.len(), FILE_KERNELS.len() * FILE_BYTES.len());
        assert!(found.iter().all(|one| one.median_s > 0.0));
        let left = std::fs::read_dir(folder.path()).expect("there").count();
        assert_eq!(left, 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_the_reason() {
        let reason = measure_files(Path::new("/no/such/folder")).expect_err("refused");
        assert!(reason.0.contains("cannot write in"), "{reason}");
    }
}
