//! The real command: what it prints where, what it writes, and how it ends.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn probe(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_probe"))
        .args(arguments)
        .output()
        .unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// The quickest run that there is: this machine has no battery, or one figure of it.
const RUN: [&str; 3] = ["run", "--only", "battery_current"];

fn made_report(folder: &Path) -> String {
    let path = folder.join("r.json").display().to_string();
    let output = probe(&[&RUN[..], &["-o", &path, "--note", "a test"]].concat());
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "", "with -o, nothing goes to stdout");
    path
}

#[test]
fn a_report_is_written_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = made_report(folder.path());
    assert_eq!(files(folder.path()), ["r.json"], "nothing else is left");
    let report: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(report["made"]["note"], "a test");
    let output = probe(&["check", &path]);
    assert_eq!(code(&output), 0);
    let summary = text(&output.stdout);
    assert_eq!(summary.lines().count(), 1);
    assert!(
        summary.contains("valid") && summary.contains("quick"),
        "{summary}"
    );
}

#[test]
fn without_a_file_the_report_goes_to_stdout_and_progress_to_stderr() {
    let output = probe(&RUN);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema_version"], 1);
    let progress = text(&output.stderr);
    assert!(progress.starts_with("0 of 1 steps done, "), "{progress}");
    assert!(progress.contains("report: on stdout"), "{progress}");
    assert!(progress.lines().count() <= 25, "{progress}");
}

#[test]
fn the_whole_table_is_there_for_who_asks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json").display().to_string();
    let run = ["run", "--only", "thread_spawn", "-o", &path];
    let plain = text(&probe(&run).stderr);
    assert!(!plain.contains("cpu_s"), "{plain}");
    let next = format!("next: pocketsim calibrate {path}");
    assert!(plain.lines().last().unwrap().starts_with(&next), "{plain}");
    let told = text(&probe(&[&run[..], &["--table"]].concat()).stderr);
    let again = text(&probe(&["check", "--table", &path]).stdout);
    for table in [&told, &again] {
        let rows = table.lines().filter(|line| line.contains("thread_spawn"));
        assert!(rows.clone().any(|row| row.contains(" wall_s ")), "{table}");
        assert!(rows.clone().any(|row| row.contains(" cpu_s ")), "{table}");
    }
}

#[test]
fn quiet_means_nothing_on_stderr() {
    let output = probe(&[&RUN[..], &["-q"]].concat());
    assert_eq!(text(&output.stderr), "");
    assert!(!output.stdout.is_empty());
}

#[test]
fn mistakes_of_the_user_end_with_2_and_one_line_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json").display().to_string();
    let inside = folder.path().display().to_string();
    for (wrong, said) in [
        (["--only", "sha265", "-o", &path], "sha265"),
        (["--threads", "0", "-o", &path], "1 to 64"),
        (
            ["--scratch", "/nowhere/at/all", "-o", &path],
            "/nowhere/at/all",
        ),
        (["--peer", "no-port", "-o", &path], "HOST:PORT"),
        (["--note", "x", "-o", &inside], "a folder"),
        (
            ["--note", "x", "-o", "/nowhere/at/all/r.json"],
            "/nowhere/at/all/r.json",
        ),
    ] {
        let output = probe(&[&["run"], &wrong[..]].concat());
        let error = text(&output.stderr);
        assert_eq!(code(&output), 2, "{wrong:?}: {error}");
        assert!(
            error.contains(said) && error.lines().count() == 1,
            "{error}"
        );
        assert_eq!(files(folder.path()), Vec::<String>::new(), "{wrong:?}");
    }
}

#[test]
fn an_invalid_report_is_named_with_place_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = made_report(folder.path());
    let right = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        right.replace("\"depth\":\"quick\"", "\"depth\":\"quik\""),
    )
    .unwrap();
    let output = probe(&["check", &path]);
    assert_eq!(code(&output), 2);
    let error = text(&output.stderr);
    assert!(error.contains("r.json: /made/depth: "), "{error}");
    assert!(error.contains("did you mean `quick`?"), "{error}");
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn findings_come_as_json_too() {
    let folder = tempfile::tempdir().unwrap();
    let good = made_report(folder.path());
    let bad = folder.path().join("bad.json").display().to_string();
    fs::write(&bad, "{}").unwrap();
    let output = probe(&["check", "--json", &good, &bad]);
    assert_eq!(code(&output), 2);
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&lines[0]["valid"], &lines[1]["valid"]),
        (&Value::Bool(true), &Value::Bool(false))
    );
    assert!(lines[1]["findings"][0]["reason"].is_string());
}

/// A pipe whose reader has gone away.
fn closed_pipe() -> Stdio {
    let (reader, writer) = UnixStream::pair().unwrap();
    drop(reader);
    OwnedFd::from(writer).into()
}

#[test]
fn a_report_is_written_though_nobody_listens_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json").display().to_string();
    let status = Command::new(env!("CARGO_BIN_EXE_probe"))
        .args([&RUN[..], &["-o", &path]].concat())
        .stdout(closed_pipe())
        .stderr(closed_pipe())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(code(&probe(&["check", &path])), 0);
    for verb in [&["check", &path][..], &["version"], &["check", "/nowhere"]] {
        let status = Command::new(env!("CARGO_BIN_EXE_probe"))
            .args(verb)
            .stdout(closed_pipe())
            .stderr(closed_pipe())
            .status()
            .unwrap();
        assert!(matches!(status.code(), Some(0 | 2)), "{verb:?} {status}");
    }
}

#[test]
fn a_report_goes_through_links_and_into_pipes_and_leaves_them_there() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link, pipe] = ["file", "link", "pipe"].map(|name| folder.path().join(name));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let to = |path: &Path| probe(&[&RUN[..], &["-o", path.to_str().unwrap()]].concat());
    assert_eq!(code(&to(&link)), 0);
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&file)
        .unwrap()
        .contains("schema_version"));
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let from = pipe.clone();
    let reader = std::thread::spawn(move || fs::read_to_string(from).unwrap());
    assert_eq!(code(&to(&pipe)), 0);
    assert!(reader.join().unwrap().contains("schema_version"));
    assert!(!pipe.is_file() && pipe.exists());
    let mut left = files(folder.path());
    left.sort();
    assert_eq!(left, ["file", "link", "pipe"]);
    fs::remove_file(&file).unwrap();
    assert_eq!(code(&to(&link)), 2, "a link to nothing");
}

#[test]
fn a_missing_file_ends_with_2() {
    let output = probe(&["check", "/nowhere/r.json"]);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("/nowhere/r.json"));
}

#[test]
fn the_version_names_target_and_libraries() {
    let output = probe(&["version", "--json"]);
    let version: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(version["probe_version"], env!("CARGO_PKG_VERSION"));
    assert!(version["crates"]["ed25519-dalek"].is_string());
    assert!(text(&probe(&["version"]).stdout).contains("ed25519-dalek"));
}

#[test]
fn an_interrupt_ends_with_130_and_a_report_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json");
    let child = Command::new(env!("CARGO_BIN_EXE_probe"))
        .args([
            "run",
            "--full",
            "--threads",
            "1",
            "-o",
            path.to_str().unwrap(),
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id().to_string();
    // Only once the handler is there: it is installed before the clock is measured.
    let deadline = Instant::now() + Duration::from_secs(20);
    while !handles_interrupts(&id) && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(Command::new("kill")
        .args(["-INT", &id])
        .status()
        .unwrap()
        .success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 130, "{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(report["made"]["stopped"], true);
    let spoiled = report["spoiled"].as_array().unwrap();
    assert!(spoiled
        .iter()
        .any(|spoiled| spoiled["condition"] == "stopped"));
    assert_eq!(code(&probe(&["check", path.to_str().unwrap()])), 0);
}

/// Whether a process catches SIGINT (bit 1 of its mask of caught signals).
fn handles_interrupts(id: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 0b10 != 0)
}
