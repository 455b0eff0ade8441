//! `probe link` as a command: what it refuses, what it prints first and last.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Output, Stdio};

fn link(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probe"));
    command
        .args(["link", "--listen", "127.0.0.1:0"])
        .args(arguments);
    command
}

fn refused(arguments: &[&str]) -> Output {
    let output = link(arguments).output().unwrap();
    assert!(output.stdout.is_empty(), "nothing is announced");
    output
}

fn reason(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn arguments_that_cannot_be_are_refused_with_the_reason() {
    let cases: [(&[&str], &str); 11] = [
        (&[], "--to"),
        (&["--to", "127.0.0.1"], "invalid socket address"),
        (
            &["--to", "127.0.0.1:9", "--delay", "20"],
            "\"20\" has no unit; a duration takes ns us ms",
        ),
        (
            &["--to", "127.0.0.1:9", "--loss", "0.01"],
            "\"0.01\" has no unit; a ratio takes %",
        ),
        (
            &["--to", "127.0.0.1:9", "--loss", "1%/200%"],
            "more than the largest ratio, 100%",
        ),
        (
            &["--to", "127.0.0.1:9", "--delay", "1s/11s"],
            "down: delay_s 11 is not between 0 and 10",
        ),
        (&["--to", "127.0.0.1:9", "--queue", "64kB"], "--rate"),
        (&["--to", "127.0.0.1:65534"], "highest first port is 65533"),
        (&["--to", "0.0.0.0:9"], "0.0.0.0 is every address"),
        (&["--to", "[::]:9"], ":: is every address"),
        (
            &["--to", "127.0.0.1:9", "--idle", "0"],
            "idle 0 s is less than 2 s",
        ),
    ];
    for (arguments, expected) in cases {
        let output = refused(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            reason(&output).contains(expected),
            "{arguments:?}: {}",
            reason(&output)
        );
    }
}

#[test]
fn bursts_that_cannot_be_are_refused_with_the_reason() {
    let cases: [(&[&str], &str); 7] = [
        (&["--bursts-share", "2%"], "--bursts-mean-packets"),
        (&["--bursts-mean-packets", "8"], "--bursts-share"),
        (&["--bursts-loss", "50%"], "--bursts-share"),
        (
            &["--bursts-share", "2%", "--bursts-mean-packets", "8%"],
            "\"8%\" is not a mean; write it as \"8.5\"",
        ),
        (
            &["--bursts-share", "2", "--bursts-mean-packets", "8"],
            "\"2\" has no unit; a ratio takes %",
        ),
        (
            &["--bursts-share", "2%/100%", "--bursts-mean-packets", "8"],
            "down: bursts: share 1 is not from 0 to below 1",
        ),
        (
            &["--bursts-share", "20%", "--bursts-mean-packets", "1.2/8"],
            "up: bursts: mean_packets 1.2 is not between 1.25,",
        ),
    ];
    for (arguments, expected) in cases {
        let output = refused(&[&["--to", "127.0.0.1:9"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let reason = reason(&output);
        assert!(reason.contains(expected), "{arguments:?}: {reason}");
    }
}

#[test]
fn a_port_that_is_taken_is_the_machines_fault() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_probe"))
        .args(["link", "--listen", &address, "--to", "127.0.0.1:9"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(reason(&output).contains(&format!("cannot listen on {address}")));
}

/// A link to a socket that was sent `datagrams` through it, then terminated: the rest of stdout.
fn relayed(arguments: &[&str], datagrams: u32) -> (String, Option<i32>) {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = server.local_addr().unwrap().to_string();
    let mut child = link(&["--to", &to])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    let address: SocketAddr = first.trim().parse().expect("the first line is the address");
    pass(&server, address, datagrams);
    terminate(&child);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    (rest, child.wait().unwrap().code())
}

fn pass(server: &UdpSocket, address: SocketAddr, datagrams: u32) {
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..datagrams {
        client.send_to(&[1; 10], address).unwrap();
        server.recv_from(&mut [0; 10]).unwrap();
    }
}

fn terminate(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
}

#[test]
fn the_last_line_is_the_statistics_as_json() {
    let (rest, code) = relayed(&["--json", "--delay", "1ms/2ms"], 3);
    let statistics: serde_json::Value = serde_json::from_str(rest.trim()).unwrap();
    assert_eq!(statistics["up"]["delivered_datagrams"], 3);
    assert_eq!(statistics["up"]["delivered_bytes"], 30);
    assert_eq!(statistics["down"]["received_datagrams"], 0);
    assert_eq!(
        statistics["down"]["lateness"]["p50_s"],
        serde_json::Value::Null
    );
    assert!(statistics["up"]["delay_added"]["p50_s"].as_f64().unwrap() > 0.001);
    assert!(statistics["up"]["lateness"]["p99_s"].as_f64().unwrap() > 0.0);
    assert_eq!(code, Some(0));
}

#[test]
fn the_statistics_are_readable_without_json() {
    let (rest, code) = relayed(&["--rate", "10Mbps", "--ports", "1"], 2);
    assert!(rest.contains("1 flows"), "{rest}");
    assert!(
        rest.contains("up:   2 datagrams (20 B) in, 2 (20 B) out"),
        "{rest}"
    );
    assert!(rest.contains("; delay added "), "{rest}");
    assert!(rest.contains("down: 0 datagrams"), "{rest}");
    assert_eq!(code, Some(0));
}
