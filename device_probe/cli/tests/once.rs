//! `probe once`: what a run has done in processes of their own.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

fn once(kernel: &str, found: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_probe"))
        .args(["once", kernel])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the probe starts");
    let mut pipe = child.stdin.take().expect("it was asked for");
    pipe.write_all(found).expect("it reads");
    drop(pipe);
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_run_measures_what_is_done_once_in_processes_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.json");
    let kernels = [
        "token_receive_bookkeeping",
        "ed25519_verify_first",
        "output_destination",
    ];
    let mut probe = Command::new(env!("CARGO_BIN_EXE_probe"));
    probe.args(["run", "--full", "--quiet", "--threads", "1", "-o"]);
    probe.arg(&report);
    for kernel in kernels {
        probe.args(["--only", kernel]);
    }
    assert!(probe.status().expect("the probe starts").success());
    let text = std::fs::read_to_string(&report).expect("a report");
    let told: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let measured = told["measurements"].as_array().expect("measurements");
    assert_eq!(
        measured.len(),
        6,
        "four sizes of a batch, one of a signature, and an output"
    );
    for case in measured {
        assert_eq!(case["status"], "measured", "{case}");
        let median = |place: usize| case["quantities"][place]["samples"]["median"].as_f64();
        assert!(median(0).is_some_and(|wall_s| wall_s > 0.0), "{case}");
        assert!(median(1).is_some_and(|cpu_s| cpu_s > 0.0), "{case}");
    }
}

#[test]
fn what_it_cannot_do_is_said_with_exit_code_2() {
    for (kernel, found, reason) in [
        ("sha256", &[][..], "sha256"),
        ("token_verify_bookkeeping", &[0; 7][..], "cut off"),
        ("ed25519_verify_first", &[0; 64][..], "does not verify"),
        ("output_destination", &b"/"[..], "lies in the folder itself"),
    ] {
        let output = once(kernel, found);
        assert_eq!(output.status.code(), Some(2), "{kernel}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(reason), "{said}");
        assert!(output.stdout.is_empty(), "{kernel}");
    }
}
