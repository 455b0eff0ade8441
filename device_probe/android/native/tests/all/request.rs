//! What the app may ask for, and what is refused before anything begins.

use probe::request::{address, Request};

fn refused(json: &str) -> String {
    Request::parse(json.as_bytes()).expect_err(json)
}

#[test]
fn a_run_needs_only_its_depth_and_a_folder() {
    let json = r#"{"activity":"run","depth":"quick","scratch":"/tmp"}"#;
    let request = Request::parse(json.as_bytes()).expect("a request");
    assert_eq!(request.activity(), "run");
    let Request::Run(run) = request else {
        panic!("{request:?}")
    };
    assert_eq!(run.options().scratch.to_str(), Some("/tmp"));
    assert!(run.options().only.is_empty() && run.peer.is_none());
}

#[test]
fn what_java_knows_is_read_by_its_names() {
    let json = r#"{"activity":"run","depth":"full","scratch":"/tmp","extras":
        {"thermal_status":3,"debuggable":false,"battery_current_a":-0.31,"power_save":true,
         "battery_level_ratio":0.5,"battery_temperature_c":31.5,"battery_status":"Full"}}"#;
    let Ok(Request::Run(run)) = Request::parse(json.as_bytes()) else {
        panic!("not read")
    };
    assert_eq!(run.extras.thermal_status, Some(3));
    assert_eq!(run.extras.battery_current_a, Some(-0.31));
    assert_eq!(run.extras.battery_status.as_deref(), Some("Full"));
}

#[test]
fn a_trade_fills_in_what_the_theses_did() {
    let json = r#"{"activity":"dial","peer":"pocketsim-probe://trade/127.0.0.1:9",
        "carrier":"quic_keep","rates_per_s":[10.0],"duration_s":2.5}"#;
    let Ok(Request::Dial(dial)) = Request::parse(json.as_bytes()) else {
        panic!("not read")
    };
    let options = dial.options().expect("an address needs no network");
    assert_eq!(options.peer.to_string(), "127.0.0.1:9");
    assert_eq!(options.carrier.name(), "quic_keep");
    assert_eq!(options.duration.as_secs_f64(), 2.5);
    assert_eq!(options.pause.as_secs(), 20);
}

#[test]
fn garbage_is_refused_with_a_reason() {
    assert!(refused("").contains("EOF"));
    assert!(refused("[1").contains("column"));
    assert!(refused(r#"{"activity":"fly"}"#).contains("fly"));
    assert!(refused(r#"{"activity":"run","depth":"deep","scratch":"/"}"#).contains("deep"));
    assert!(refused(r#"{"activity":"run","depth":"quick","scratch":"/","x":1}"#).contains('x'));
    let error = Request::parse(b"{\"activity\":\"\xff\"}").expect_err("not UTF-8");
    assert!(error.contains("utf-8"), "{error}");
}

#[test]
fn a_run_that_cannot_be_is_refused_before_it_begins() {
    let reason =
        refused(r#"{"activity":"run","depth":"quick","scratch":"/tmp","only":["no_such_kernel"]}"#);
    assert!(reason.contains("no_such_kernel"), "{reason}");
}

#[test]
fn a_trade_that_cannot_be_is_refused_before_it_begins() {
    let dial = |peer: &str, carrier: &str, duration: &str| {
        refused(&format!(
            r#"{{"activity":"dial","peer":"{peer}","carrier":"{carrier}","rates_per_s":[1.0],"duration_s":{duration}}}"#
        ))
    };
    assert!(dial("::::]", "udp", "1").starts_with("peer"));
    assert!(dial("127.0.0.1:9", "pigeon", "1").starts_with("carrier"));
    assert!(dial("127.0.0.1:9", "udp", "-1").starts_with("duration_s"));
}

#[test]
fn a_link_and_its_address_name_the_same_peer() {
    for text in ["192.168.1.20:7400", "[fe80::1]:7400", "phone.local:1"] {
        let link: pocketsim_probe_core::trade::link::Link = text.parse().expect("an address");
        assert_eq!(address(&link), text);
        assert_eq!(link.to_string().parse(), Ok(link));
    }
}
