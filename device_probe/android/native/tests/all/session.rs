//! Activities on threads of their own: their life, their end, and faults in them.

use std::path::Path;
use std::time::{Duration, Instant};

use probe::request::Request;
use probe::session::{Session, Sessions};
use probe::status::{Stage, Status};

/// Waits for a condition, not for a time; the limit only ends a hopeless test.
fn until(session: &Session, ready: impl Fn(&Status) -> bool) -> Status {
    let start = Instant::now();
    loop {
        let status = session.status();
        if ready(&status) {
            return status;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{status:?}");
        std::thread::yield_now();
    }
}

fn over(status: &Status) -> bool {
    matches!(status.stage, Stage::Finished | Stage::Failed)
}

fn begin(json: &str) -> Session {
    Session::start(Request::parse(json.as_bytes()).expect("a request")).expect("a thread")
}

fn run(folder: &Path, rest: &str) -> Session {
    begin(&format!(
        r#"{{"activity":"run","depth":"quick","scratch":{folder:?}{rest}}}"#
    ))
}

const TINY: &str = r#","only":["sha256"],"threads_max":1"#;

#[test]
fn a_run_ends_with_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = run(folder.path(), TINY);
    let status = until(&session, over);
    assert_eq!(status.stage, Stage::Finished, "{status:?}");
    assert_eq!(status.done, status.total);
    assert_eq!(status.kernels[0].kernel, "sha256");
    assert!(status.kernels[0].median.expect("a figure") > 0.0);
    let report: serde_json::Value =
        serde_json::from_str(&session.report().expect("a report")).expect("JSON");
    assert_eq!(report["schema_version"], 1);
    assert_eq!(
        report["spoiled"],
        serde_json::to_value(status.spoiled).expect("JSON")
    );
}

#[test]
fn a_stopped_run_ends_early_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = run(folder.path(), "");
    until(&session, |status| status.current.is_some());
    session.stop();
    let status = until(&session, over);
    assert_eq!(status.stage, Stage::Finished, "{status:?}");
    assert!(session
        .report()
        .expect("a report")
        .contains("\"stopped\":true"));
    let spoiled = serde_json::to_string(&status.spoiled).expect("JSON");
    assert!(spoiled.contains("\"stopped\""), "{spoiled}");
}

#[test]
fn what_java_knows_reaches_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let extras = r#","extras":{"thermal_status":4,"debuggable":true}"#;
    let session = run(folder.path(), &format!("{TINY}{extras}"));
    until(&session, over);
    let report: serde_json::Value =
        serde_json::from_str(&session.report().expect("a report")).expect("JSON");
    assert_eq!(report["conditions"]["after"]["thermal_status"], 4);
    assert!(report["spoiled"].to_string().contains("debuggable"));
}

#[test]
fn a_panic_on_the_thread_fails_the_session_only() {
    let session = begin(r#"{"activity":"fault","on_thread":true}"#);
    let status = until(&session, over);
    assert_eq!(status.stage, Stage::Failed);
    assert!(status.error.expect("a reason").contains("asked to panic"));
    assert_eq!(session.report(), None);
}

#[test]
fn a_trade_that_cannot_begin_says_why() {
    // The port is taken.
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let bind = taken.local_addr().expect("an address");
    let session = begin(&format!(r#"{{"activity":"listen","bind":"{bind}"}}"#));
    let status = until(&session, over);
    assert_eq!(status.stage, Stage::Failed, "{status:?}");
    assert!(status.error.is_some());
}

#[test]
fn a_listener_ends_when_it_is_asked_to() {
    let session = begin(r#"{"activity":"listen","bind":"127.0.0.1:0"}"#);
    session.stop();
    let status = until(&session, over);
    assert_eq!(status.stage, Stage::Finished, "{status:?}");
    assert!(session.report().is_some());
}

#[test]
fn two_sessions_trade() {
    let listener = begin(r#"{"activity":"listen","bind":"127.0.0.1:0"}"#);
    let address = until(&listener, |status| status.address.is_some()).address;
    let dialler = begin(&format!(
        r#"{{"activity":"dial","peer":"{}","carrier":"udp","rates_per_s":[50.0],
            "duration_s":0.2,"repetitions":1,"pause_s":0}}"#,
        address.expect("an address")
    ));
    let status = until(&dialler, over);
    assert_eq!(status.stage, Stage::Finished, "{status:?}");
    assert_eq!(status.spoiled, None);
    let outcome: serde_json::Value =
        serde_json::from_str(&dialler.report().expect("an outcome")).expect("JSON");
    assert_eq!(outcome["complete"], true, "{outcome}");
    listener.stop();
    assert_eq!(until(&listener, over).stage, Stage::Finished);
}

#[test]
fn handles_are_never_followed_blindly() {
    let sessions = Sessions::new();
    let fault = || begin(r#"{"activity":"fault","on_thread":true}"#);
    let (first, second) = (sessions.add(fault()), sessions.add(fault()));
    assert!(first > 0 && second > first);
    assert!(sessions.get(first).is_some());
    assert_eq!(sessions.remove(first), Some(()));
    assert!(sessions.get(first).is_none());
    assert_eq!(sessions.remove(first), None);
    assert!(sessions.get(0).is_none() && sessions.get(-1).is_none());
    assert!(sessions.add(fault()) > second);
}
