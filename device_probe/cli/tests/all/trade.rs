//! `probe trade` as processes: what it prints, its exit codes, and a listener that is killed.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

fn probe(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probe"));
    command.arg("trade").args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    probe(arguments).output().expect("the binary runs")
}

/// A listener that is killed at the latest when the test ends.
struct Listener {
    process: Child,
    stdout: BufReader<ChildStdout>,
    address: SocketAddr,
    line: String,
}

impl Listener {
    fn start(bind: &str, more: &[&str]) -> Self {
        let mut command = probe(&["listen", "--bind", bind]);
        let command = command
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().expect("the binary runs");
        let mut stdout = BufReader::new(process.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let word = line.split(' ').nth(2).expect("listening on ADDRESS LINK");
        let address = word.parse().expect("an address");
        Self {
            process,
            stdout,
            address,
            line,
        }
    }

    fn kill(mut self) -> SocketAddr {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("JSON on stdout")
}

const ANY: &str = "127.0.0.1:0";

#[test]
fn a_listener_says_where_it_is_and_a_dialler_what_came_of_it() {
    let listener = Listener::start(ANY, &[]);
    let link = format!("pocketsim-probe://trade/{}", listener.address);
    assert_eq!(
        listener.line,
        format!("listening on {} {link}\n", listener.address)
    );
    let short = ["--duration", "200ms", "--rate", "50", "--repetitions", "1"];
    let output = run(&[&["dial", &link, "--json"], &short[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let outcome = json(&output);
    assert_eq!(outcome["complete"], true, "{outcome}");
    let one = &outcome["repetitions"][0];
    assert_eq!((&one["offered"], &one["stored"]), (&10.into(), &10.into()));
    assert!(one["rtt"]["p99_s"]
        .as_f64()
        .is_some_and(|p99_s| p99_s > 0.0));
}

/// What a listener says on stderr before the line with its address.
fn says_first(bind: &str) -> String {
    let mut command = probe(&["listen", "--bind", bind]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("the binary runs");
    let stdout = BufReader::new(process.stdout.take().expect("piped"));
    let stderr = BufReader::new(process.stderr.take().expect("piped"));
    stdout.lines().next().expect("a line").expect("text");
    let first = stderr.lines().next().expect("a line").expect("text");
    process.kill().expect("it runs");
    process.wait().expect("it ends");
    first
}

#[test]
fn a_listener_that_is_open_to_the_network_says_so_and_why() {
    let open = says_first("0.0.0.0:0");
    for part in [
        "open to the network",
        "another phone",
        "0.0.0.0",
        "--bind 127.0.0.1:",
    ] {
        assert!(open.contains(part), "{open}");
    }
    let closed = says_first(ANY);
    assert!(closed.starts_with("waiting for a dialler"), "{closed}");
}

#[test]
fn a_store_has_a_limit_at_both_ends_and_says_what_it_refused() {
    let limited = ["--store", "append", "--store-limit", "20kB", "--json"];
    let short = ["--duration", "500ms", "--rate", "100", "--repetitions", "1"];
    let counts = |listening: &[&str], dialling: &[&str]| {
        let listener = Listener::start(ANY, listening);
        let address = listener.address.to_string();
        let output = run(&[&["dial", &address], dialling, &short].concat());
        assert_eq!(
            output.status.code(),
            Some(3 * i32::from(!listening.is_empty()))
        );
        json(&output)["repetitions"][0].clone()
    };
    let full_there = counts(&limited, &["--json"]);
    let (stored, refused) = (&full_there["stored"], &full_there["listener"]["refused"]);
    let (stored, refused) = (stored.as_u64(), refused["buffer_full"].as_u64());
    let (stored, refused) = (stored.expect("a number"), refused.expect("a number"));
    assert_eq!(full_there["listener"]["agrees"], true, "{full_there}");
    assert!(
        stored > 0 && refused > 0 && stored + refused == 50,
        "{full_there}"
    );

    let full_here = counts(&[], &limited);
    let (stored, left) = (
        &full_here["stored"],
        &full_here["not_proposed"]["store_full"],
    );
    let (stored, left) = (stored.as_u64(), left.as_u64());
    let (stored, left) = (stored.expect("a number"), left.expect("a number"));
    assert_eq!(full_here["complete"], true, "{full_here}");
    assert!(stored > 0 && left > 0 && stored + left == 50, "{full_here}");
}

#[test]
fn impossible_options_end_with_2_and_the_reason() {
    for (arguments, reason) in [
        (&["dial", "127.0.0.1:65535"][..], "two more ports"),
        (&["dial", "127.0.0.1:1", "--rate", "0"], "--rate: 0/s"),
        (&["dial", "127.0.0.1:1", "--duration", "5"], "has no unit"),
        (&["dial", "127.0.0.1:1", "--carrier", "quick"], "quic_keep"),
        (&["dial", "127.0.0.1:1", "-o", "events.xls"], ".jsonl"),
        (&["listen", "--store-limit", "5"], "has no unit"),
        (
            &["listen", "--bind", ANY, "-o", "no/folder/a.csv"],
            "no/folder",
        ),
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(reason), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let listener = Listener::start(ANY, &[]);
    let address = listener.address.to_string();
    let output = run(&["listen", "--bind", &address]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(
        said.contains(&format!("cannot listen on {address}")),
        "{said}"
    );
}

#[test]
fn a_folder_as_output_is_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.csv");
    std::fs::create_dir(&path).expect("a folder in its place");
    let path = path.to_str().expect("text");
    for arguments in [
        ["dial", "127.0.0.1:1"].as_slice(),
        &["listen", "--bind", ANY],
    ] {
        let output = run(&[arguments, &["-o", path]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("events.csv: a folder"), "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_qr_code_is_drawn_on_demand() {
    let mut listener = Listener::start(ANY, &["--qr"]);
    let mut first = String::new();
    listener.stdout.read_line(&mut first).expect("a drawing");
    // A code begins with its quiet zone, which is light.
    assert!(
        first.len() > 60 && first.trim().chars().all(|c| c == '█'),
        "{first:?}"
    );
}

/// Kills the listener while the dialler is at it, and starts another one on the same port.
fn survives_a_kill(carrier: &str) {
    let listener = Listener::start(ANY, &[]);
    let address = listener.address.to_string();
    let long = [
        "--rate",
        "50",
        "--duration",
        "8s",
        "--repetitions",
        "1",
        "--json",
    ];
    let mut command = probe(&[&["dial", &address, "--carrier", carrier], &long[..]].concat());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut dialler = command.spawn().expect("the binary runs");
    let progress = BufReader::new(dialler.stderr.take().expect("piped"));
    let stores = |line: &str| !line.contains(" 0 stored");
    let mut lines = progress.lines().map(|line| line.expect("text"));
    lines.find(|line| stores(line)).expect("a block is stored");
    let _second = Listener::start(&listener.kill().to_string(), &[]);
    lines.for_each(drop);
    let outcome = json(&dialler.wait_with_output().expect("it ends"));
    let one = &outcome["repetitions"][0];
    let number = |of: &serde_json::Value| of.as_u64().expect("a number");
    assert_eq!(number(&one["reintroductions"]), 1, "{outcome}");
    let lost: u64 = one["lost"]
        .as_object()
        .expect("by reason")
        .values()
        .map(number)
        .sum();
    assert_eq!(
        number(&one["sent"]),
        number(&one["stored"]) + lost,
        "{outcome}"
    );
    assert!(
        number(&one["listener"]["stored"]) > 0,
        "the second one: {outcome}"
    );
    assert_eq!(outcome["complete"], false);
}

#[test]
fn udp_survives_a_killed_listener() {
    survives_a_kill("udp");
}

#[test]
fn a_kept_connection_survives_a_killed_listener() {
    survives_a_kill("quic_keep");
}
