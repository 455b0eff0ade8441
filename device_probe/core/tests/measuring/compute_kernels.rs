//! The catalogue of the groups crypto, serialisation and storage: it is complete, and it runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pocketsim_probe_core::kernel::{Case, Depth, Group, Repeat, Unmeasured, Work};
use pocketsim_probe_core::kernels::{catalogue, crypto, serialisation, storage, Surroundings};

const CRYPTO: [&str; 14] = [
    "aes_128_gcm_open",
    "aes_128_gcm_seal",
    "aes_256_gcm_open",
    "aes_256_gcm_seal",
    "chacha20_poly1305_open",
    "chacha20_poly1305_seal",
    "ed25519_key_generation",
    "ed25519_sign",
    "ed25519_verify",
    "ed25519_verify_batch",
    "sealed_box_open",
    "sealed_box_seal",
    "sha256",
    "x25519_key_agreement",
];
const SERIALISATION: [&str; 17] = [
    "block_decode",
    "block_encode",
    "half_block_decode",
    "half_block_encode",
    "token_decode",
    "token_encode",
    "token_mint_bookkeeping",
    "token_pay_bookkeeping",
    "token_receive_bookkeeping",
    "token_refuse_bookkeeping",
    "token_request_bookkeeping",
    "token_settle_bookkeeping",
    "token_settle_redeem_bookkeeping",
    "token_submit_bookkeeping",
    "token_submit_redeem_bookkeeping",
    "token_verify_bookkeeping",
    "token_verify_redeem_bookkeeping",
];
const STORAGE: [&str; 11] = [
    "file_append",
    "file_append_fsync",
    "file_create_fsync",
    "file_open_read",
    "file_read",
    "file_replace_fsync",
    "memory_file_append_fsync",
    "memory_file_create_fsync",
    "memory_file_replace_fsync",
    "sqlite_insert_commit",
    "sqlite_read",
];
const DEPTHS: [Depth; 2] = [Depth::Quick, Depth::Full];

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn surroundings(depth: Depth, scratch: &Path) -> Surroundings {
    Surroundings {
        depth,
        scratch: scratch.to_owned(),
        peer: None,
    }
}

fn stored(depth: Depth, scratch: &Path) -> Vec<Case> {
    storage::cases(&surroundings(depth, scratch))
}

fn groups(depth: Depth) -> [Vec<Case>; 3] {
    [
        crypto::cases(depth),
        serialisation::cases(depth),
        stored(depth, scratch()),
    ]
}

fn make(case: &Case) -> Result<Box<dyn Repeat>, Unmeasured> {
    match &case.work {
        Work::Repeat(make) => make(),
        Work::Experiment(_) => panic!("{} is repeated", case.kernel),
    }
}

/// Kernel and parameters, as a report tells cases apart.
fn name(case: &Case) -> String {
    format!("{} {:?}", case.kernel, case.parameters)
}

fn is_bookkeeping(kernel: &str) -> bool {
    kernel.ends_with("_bookkeeping")
}

/// Those lie in the system's own folder, whatever folder is given.
fn is_in_memory(kernel: &str) -> bool {
    kernel.starts_with("memory_")
}

fn values(cases: &[Case], kernel: &str, parameter: &str) -> Vec<f64> {
    let of_kernel = cases.iter().filter(|case| case.kernel == kernel);
    of_kernel.map(|case| case.parameters[parameter]).collect()
}

#[test]
fn kernels_have_the_names_that_calibration_reads() {
    for depth in DEPTHS {
        let names = groups(depth).map(|cases| -> Vec<&str> {
            let names: BTreeSet<&str> = cases.iter().map(|case| case.kernel).collect();
            names.into_iter().collect()
        });
        // No operation of a profile is priced by these.
        let is_in_full = |kernel: &&str| {
            is_bookkeeping(kernel)
                || kernel.ends_with("replace_fsync")
                || kernel.ends_with("create_fsync")
                || *kernel == "file_open_read"
                || is_in_memory(kernel)
        };
        let expected = |kernels: &[&'static str]| -> Vec<&str> {
            let mut expected = kernels.to_vec();
            expected.retain(|kernel| depth == Depth::Full || !is_in_full(kernel));
            expected
        };
        assert_eq!(names[0], CRYPTO);
        assert_eq!(names[1], expected(&SERIALISATION));
        assert_eq!(names[2], expected(&STORAGE));
    }
}

#[test]
fn where_an_output_goes_is_measured_in_full_only() {
    for (depth, expected) in [(Depth::Quick, 0), (Depth::Full, 1)] {
        let cases = catalogue(&surroundings(depth, scratch()));
        let destinations = cases
            .iter()
            .filter(|case| case.kernel == "output_destination");
        let destinations: Vec<&Case> = destinations.collect();
        assert_eq!(destinations.len(), expected);
        assert!(destinations
            .iter()
            .all(|case| case.group == Group::Storage && case.parameters.is_empty()));
    }
}

#[test]
fn no_two_cases_are_the_same() {
    for depth in DEPTHS {
        let names: Vec<String> = groups(depth).concat().iter().map(name).collect();
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }
}

#[test]
fn a_full_run_has_every_quick_case() {
    let full: BTreeSet<String> = groups(Depth::Full).concat().iter().map(name).collect();
    for case in groups(Depth::Quick).concat() {
        assert!(full.contains(&name(&case)), "{}", name(&case));
    }
}

#[test]
fn parameters_are_those_of_the_kernel() {
    let keys = |case: &Case| case.parameters.keys().copied().collect::<Vec<_>>();
    for case in groups(Depth::Full).concat() {
        let expected: &[&str] = match case.kernel {
            "ed25519_key_generation" | "x25519_key_agreement" => &[],
            "ed25519_verify_batch" => &["bytes", "signatures"],
            "token_encode" | "token_decode" => &["recipients"],
            kernel if is_bookkeeping(kernel) => &["tokens"],
            "sqlite_insert_commit" => &["bytes", "wal"],
            _ => &["bytes"],
        };
        assert_eq!(keys(&case), expected, "{}", case.kernel);
    }
}

#[test]
fn computing_scales_and_storing_does_not() {
    let expected = [
        (Group::Crypto, true),
        (Group::Serialisation, true),
        (Group::Storage, false),
    ];
    for (cases, (group, scales)) in groups(Depth::Full).iter().zip(expected) {
        for case in cases {
            let scales = scales && !is_bookkeeping(case.kernel);
            assert_eq!(
                (case.group, case.scales),
                (group, scales),
                "{}",
                case.kernel
            );
        }
    }
}

#[test]
fn sizes_are_those_of_the_protocols() {
    let crypto = crypto::cases(Depth::Full);
    let sizes = [
        64., 138., 147., 256., 668., 1_024., 4_096., 16_384., 65_536.,
    ];
    for kernel in ["ed25519_sign", "ed25519_verify", "sha256"] {
        assert_eq!(values(&crypto, kernel, "bytes"), sizes);
    }
    let signatures = values(&crypto, "ed25519_verify_batch", "signatures");
    assert_eq!(signatures, [1., 2., 4., 8., 16., 32., 64.]);
    let serialised = serialisation::cases(Depth::Full);
    let blocks = values(&serialised, "block_encode", "bytes");
    assert_eq!(blocks, [550., 640., 668., 1_540.]);
    // 268 bytes, the type, and `a1d7smessage<digits>s<text>`.
    let half_blocks = values(&serialised, "half_block_decode", "bytes");
    assert_eq!(half_blocks, [302., 393., 421., 1_294.]);
    let recipients = values(&serialised, "token_decode", "recipients");
    assert_eq!(recipients, [1., 2., 3., 5., 10., 20., 50.]);
}

#[test]
fn every_case_runs_again_and_again() {
    let [crypto, serialisation, _] = groups(Depth::Full);
    for case in [crypto, serialisation].concat() {
        if is_bookkeeping(case.kernel) {
            continue; // an experiment
        }
        let mut instance = make(&case).unwrap_or_else(|error| panic!("{}: {error}", name(&case)));
        // Once around every pool, and on.
        assert_eq!(instance.run(66), Ok(()), "{}", name(&case));
        assert_eq!(instance.run(0), Ok(()));
        assert_eq!(instance.run(1), Ok(()));
    }
}

#[test]
fn instances_run_beside_each_other() {
    for case in groups(Depth::Quick).concat() {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| make(&case).map(|mut instance| instance.run(3).expect("runs")));
            }
        });
    }
}

fn entries(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// A folder for one test; tests of a process share the number.
fn own_folder(name: &str) -> PathBuf {
    let folder = scratch().join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn storing_leaves_nothing_behind() {
    let folder = own_folder("storing");
    for case in stored(Depth::Full, &folder) {
        match make(&case) {
            Ok(mut instance) => {
                let here = usize::from(!is_in_memory(case.kernel));
                assert_eq!(entries(&folder).len(), here, "{}", name(&case));
                assert_eq!(instance.run(3), Ok(()), "{}", name(&case));
            }
            Err(reason) => assert!(explained(&reason, &folder), "{}: {reason}", name(&case)),
        }
        assert!(entries(&folder).is_empty(), "{}", name(&case));
    }
    std::fs::remove_dir(folder).expect("empty");
}

/// On a machine whose build folder is memory, or without SQLite, nothing else can be expected.
fn explained(reason: &Unmeasured, folder: &Path) -> bool {
    let memory = ["tmpfs", "ramfs"].contains(&&storage::filesystem_of(folder)[..]);
    let no_memory = reason.0.contains("is no memory");
    memory || no_memory || (cfg!(not(feature = "sqlite")) && reason.0 == "built without SQLite")
}

#[test]
fn the_folder_is_only_touched_when_something_is_measured() {
    let folder = own_folder("untouched");
    let cases = stored(Depth::Full, &folder);
    assert!(!cases.is_empty() && entries(&folder).is_empty());
    std::fs::remove_dir(folder).expect("empty");
}

#[test]
fn a_folder_that_cannot_be_written_is_the_reason() {
    let file = own_folder("unwritable").join("file");
    std::fs::write(&file, "").expect("written");
    for folder in [&file, Path::new("/no/such/folder")] {
        let cases = stored(Depth::Full, folder);
        for case in cases.iter().filter(|case| !is_in_memory(case.kernel)) {
            let reason = make(case).err().expect("refused").0;
            let expected = format!("cannot write in {}: ", folder.display());
            let unbuilt = reason == "built without SQLite";
            assert!(reason.starts_with(&expected) || unbuilt, "{reason}");
        }
    }
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("removed");
}

#[test]
fn a_folder_taken_away_ends_the_measurement_with_a_reason() {
    let folder = own_folder("taken");
    for case in stored(Depth::Quick, &folder) {
        let Ok(mut instance) = make(&case) else {
            continue;
        };
        for path in entries(&folder) {
            std::fs::remove_dir_all(path).expect("removed");
        }
        // Open files live on; a journal cannot be made anew. Either way nothing may panic.
        let _ = instance.run(10);
        drop(instance);
        assert!(entries(&folder).is_empty());
    }
    std::fs::remove_dir(folder).expect("empty");
}

#[test]
fn quick_runs_have_few_cases() {
    // Two sizes give a cost its slope; whoever adds a case here adds to the minute of a quick run.
    let quick = groups(Depth::Quick).map(|cases| cases.len());
    let full = groups(Depth::Full).map(|cases| cases.len());
    assert_eq!((quick, full), ([31, 12, 6], [100, 68, 48]));
}
