//! `probe serve` as a process: its line on stdout, its end by a signal, its refusals.

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use pocketsim_probe_core::peer::codec::{Counts, Kind, Message};

fn probe(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probe"));
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn signal(child: &Child, name: &str) {
    let command = format!("kill -{name} {}", child.id());
    let sent = Command::new("sh").args(["-c", &command]).status();
    assert!(sent.expect("a shell").success());
}

/// Starts it on free ports; the address of its UDP side.
fn serving() -> (Child, BufReader<std::process::ChildStdout>, String) {
    let mut child = probe(&["serve", "--bind", "127.0.0.1:0"])
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it says where it listens");
    let addresses: serde_json::Value = serde_json::from_str(&line).expect("one line of JSON");
    let udp = addresses["udp"].as_str().expect("an address").to_owned();
    assert!(addresses["quic"].is_string());
    (child, out, udp)
}

fn ended(child: Child) -> Output {
    child.wait_with_output().expect("it ends")
}

#[test]
fn it_answers_until_a_signal_and_sums_up() {
    for name in ["INT", "TERM", "HUP"] {
        let (child, mut out, udp) = serving();
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
        socket
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a time");
        let echo = Message {
            kind: Kind::Echo,
            session: 1,
            sequence: 2,
            time_ns: 3,
            counts: Counts::default(),
        };
        socket.send_to(&echo.encode(100), &udp).expect("it listens");
        assert_eq!(socket.recv(&mut [0; 200]).expect("it answers"), 100);
        signal(&child, name);
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("text");
        assert_eq!(rest, "", "one line on stdout and no more");
        let output = ended(child);
        assert!(output.status.success(), "{name} {output:?}");
        let errors = String::from_utf8(output.stderr).expect("text");
        let summary = errors.lines().last().expect("a summary");
        assert!(summary.contains("\"udp_answered\":1"), "{errors}");
    }
}

#[test]
fn a_port_that_is_taken_is_the_machines_fault() {
    let (child, _out, udp) = serving();
    let output = probe(&["serve", "--bind", &udp]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(5));
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(
        errors.contains("--bind") && errors.contains("port 0"),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 1);
    assert!(output.stdout.is_empty());
    signal(&child, "TERM");
    ended(child);
}

#[test]
fn the_last_port_has_none_above_it() {
    let output = probe(&["serve", "--bind", "127.0.0.1:65535"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(errors.contains("65534"), "{errors}");
}

#[test]
fn an_address_without_a_port_is_refused() {
    let output = probe(&["serve", "--bind", "127.0.0.1"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}
