//! The kernels of scheduling, UDP and QUIC do what they say; how fast is nobody's business here.

use std::collections::BTreeSet;
use std::time::Duration;

use super::experiment::{label, measure, measure_until, measure_within, Samples};
use pocketsim_probe_core::kernel::{Case, Depth};
use pocketsim_probe_core::kernels::{quic, scheduling, udp};
use pocketsim_probe_core::stop::Stop;

fn cases(depth: Depth) -> Vec<Case> {
    [
        scheduling::cases(depth),
        udp::cases(depth),
        quic::cases(depth),
    ]
    .concat()
}

fn only(kernel: &str) -> Vec<Case> {
    let mut cases = cases(Depth::Full);
    cases.retain(|case| case.kernel == kernel);
    assert!(!cases.is_empty(), "{kernel}");
    cases
}

fn kernels(depth: Depth) -> BTreeSet<&'static str> {
    cases(depth).iter().map(|case| case.kernel).collect()
}

/// Samples, or none of what needs a core for itself where other programs compute all the time.
fn measured_here(case: &Case, samples: usize) -> Option<Samples> {
    let limit_s = match case.kernel {
        "kernel_tick" => 1,
        _ => 60,
    };
    match measure_within(case, samples, Duration::from_secs(limit_s), &Stop::new()) {
        Ok(samples) => Some(samples),
        Err(why) => {
            let taken = match case.kernel {
                "kernel_tick" => "other threads had the core",
                _ => "nothing",
            };
            assert_eq!(why.0, taken, "{}", label(case));
            None
        }
    }
}

#[test]
fn the_names_are_those_that_calibration_reads() {
    let expected = [
        "kernel_tick",
        "quic_endpoint_close",
        "quic_endpoint_setup",
        "quic_handshake",
        "quic_handshake_confirm",
        "quic_handshake_finish",
        "quic_handshake_respond",
        "quic_handshake_start",
        "quic_handshakes_concurrent",
        "quic_message_at_pace",
        "quic_message_keep",
        "quic_message_reconnect",
        "quic_trades_at_once",
        "quic_packet_open",
        "quic_packet_seal",
        "quic_reconnect_at_pace",
        "quic_stream_accept",
        "quic_stream_open",
        "sleep_overshoot",
        "task_spawn",
        "tftp_file",
        "tftp_turn",
        "thread_spawn",
        "timed_sleep",
        "timer_interrupt",
        "trade_at_pace",
        "trade_bookkeeping",
        "udp_buffer_capacity",
        "udp_receive",
        "udp_round_trip",
        "udp_send",
        "udp_wake_up",
        "wake_up_latency",
    ];
    assert_eq!(kernels(Depth::Full), BTreeSet::from(expected));
    assert_eq!(kernels(Depth::Quick), BTreeSet::from(expected));
}

#[test]
fn no_case_is_there_twice() {
    for depth in [Depth::Quick, Depth::Full] {
        let labels: Vec<String> = cases(depth).iter().map(label).collect();
        let distinct: BTreeSet<&String> = labels.iter().collect();
        assert_eq!(distinct.len(), labels.len());
    }
}

#[test]
fn only_a_full_run_rests_for_longer_than_a_tenth_of_a_second() {
    let longest_s = |depth| {
        let cases = cases(depth).into_iter();
        let rests_s = cases.filter_map(|case| case.parameters.get("rest_s").copied());
        rests_s.fold(0.0, f64::max)
    };
    assert_eq!(longest_s(Depth::Quick), 0.1);
    assert_eq!(longest_s(Depth::Full), 0.4);
}

#[test]
fn every_case_gives_the_samples_asked_for() {
    for case in cases(Depth::Quick) {
        let Some(samples) = measured_here(&case, 2) else {
            continue;
        };
        for (quantity, values) in &samples {
            assert_eq!(values.len(), 2, "{} {quantity}", label(&case));
            let sound = values
                .iter()
                .all(|value| value.is_finite() && *value >= 0.0);
            assert!(sound, "{} {quantity} {values:?}", label(&case));
        }
    }
}

#[test]
fn quantities_are_those_that_calibration_reads() {
    for case in cases(Depth::Quick) {
        let expected: &[&str] = match case.kernel {
            "sleep_overshoot" => &["overshoot_s"],
            "wake_up_latency" => &["latency_s", "sent_s"],
            "udp_round_trip" => &["rtt_s"],
            "udp_wake_up" => &["latency_s", "sent_s", "rtt_s"],
            "udp_buffer_capacity" => &["capacity_datagrams"],
            "trade_at_pace" => &["countersign_s", "complete_s", "rtt_s", "cpu_s"],
            "trade_bookkeeping" => &["propose_s", "countersign_s", "complete_s"],
            "tftp_file" => &["file_s"],
            "kernel_tick" | "timed_sleep" | "timer_interrupt" => &["cpu_s"],
            "tftp_turn" => &["taken_s", "given_s"],
            "quic_message_at_pace" => &["rtt_s", "cpu_s"],
            "quic_reconnect_at_pace" => &["rtt_s"],
            "quic_trades_at_once" => &["proposer_cpu_s", "countersigner_cpu_s"],
            _ => &["wall_s", "cpu_s"],
        };
        let Some(samples) = measured_here(&case, 1) else {
            continue;
        };
        for quantity in expected {
            assert!(
                samples.contains_key(quantity),
                "{} {quantity}",
                label(&case)
            );
        }
    }
}

#[test]
fn a_datagram_is_there_before_its_answer_is_back() {
    for case in only("udp_wake_up") {
        let samples = measure(&case, 3).expect("loopback is there, and a second core");
        for (latency_s, rtt_s) in samples["latency_s"].iter().zip(&samples["rtt_s"]) {
            assert!(*latency_s > 0.0 && latency_s < rtt_s, "{}", label(&case));
        }
    }
}

#[test]
fn each_step_of_a_trade_is_timed() {
    for case in only("trade_at_pace") {
        let samples = measure(&case, 3).expect("loopback is there, and a second core");
        for (place, rtt_s) in samples["rtt_s"].iter().enumerate() {
            let [propose_s, countersign_s, complete_s] =
                ["propose_s", "countersign_s", "complete_s"].map(|step| samples[step][place]);
            assert!(propose_s > 0.0 && samples["cpu_s"][place] > 0.0);
            // Who countersigns checks and signs, who completes only checks.
            assert!(countersign_s > 0.0 && complete_s > 0.0);
            assert!(complete_s < *rtt_s, "{}", label(&case));
        }
    }
}

#[test]
fn the_core_time_of_a_trade_is_told_of_each_end() {
    for case in only("quic_trades_at_once") {
        let samples = measure(&case, 3).expect("loopback is there, and a second core");
        let proposer_s = samples["proposer_cpu_s"].iter();
        for (proposer_s, countersigner_s) in proposer_s.zip(&samples["countersigner_cpu_s"]) {
            // Each signs once and verifies once, in whatever of its threads.
            let ratio = proposer_s / countersigner_s;
            assert!((0.5..2.0).contains(&ratio), "{ratio}");
        }
    }
}

#[test]
fn nothing_is_measured_after_a_stop() {
    let stop = Stop::new();
    stop.raise();
    for case in cases(Depth::Full) {
        let refused = measure_until(&case, 1, &stop).expect_err(case.kernel);
        assert!(refused.to_string().contains("stopped"), "{refused}");
    }
}

#[test]
fn a_sleep_is_never_too_short() {
    for case in &only("sleep_overshoot")[..4] {
        let samples = measure(case, 3).expect("sleeping is possible");
        assert!(samples["overshoot_s"].iter().all(|over_s| *over_s >= 0.0));
    }
}

/// The band leaves room for every kernel: a datagram is charged its bytes and some bookkeeping,
/// but at most twice a power of two that holds both, and a page.
#[test]
fn buffers_hold_what_the_kernel_charges() {
    for case in only("udp_buffer_capacity") {
        let samples = measure(&case, 1).expect("loopback is there");
        let capacity = samples["capacity_datagrams"][0];
        let granted = samples["granted_bytes"][0];
        let bytes = case.parameters["bytes"];
        assert!(
            capacity <= granted / bytes + 1.0,
            "{} {capacity}",
            label(&case)
        );
        let charge_max = 2.0 * (bytes + 1024.0) + 4096.0;
        assert!(
            capacity >= (granted / charge_max).floor(),
            "{} {capacity}",
            label(&case)
        );
    }
}

#[test]
fn a_larger_buffer_holds_more_and_larger_datagrams_fill_it_sooner() {
    let measured = |bytes: f64, buffer: f64| {
        let mut cases = only("udp_buffer_capacity");
        cases.retain(|case| {
            case.parameters["bytes"] == bytes && case.parameters["buffer_bytes"] == buffer
        });
        measure(&cases[0], 1).expect("loopback is there")["capacity_datagrams"][0]
    };
    assert!(measured(64.0, 106_496.0) >= measured(1472.0, 106_496.0));
    assert!(measured(668.0, 425_984.0) >= measured(668.0, 106_496.0));
}

#[test]
fn what_is_sealed_is_a_little_larger_than_the_chunk() {
    for case in only("quic_packet_seal")
        .iter()
        .chain(&only("quic_packet_open"))
    {
        let samples = measure(case, 2).expect("nothing can refuse it");
        let overhead = samples["datagram_bytes"][0] - case.parameters["bytes"];
        // Short header with an 8-byte connection id, AEAD tag, STREAM frame (RFC 9000 17.3, 19.8).
        assert!((25.0..60.0).contains(&overhead), "{overhead}");
    }
}

#[test]
fn each_step_of_a_handshake_after_the_first_begins_with_datagrams() {
    for (kernel, least) in [
        ("quic_handshake_start", 0.0),
        ("quic_handshake_respond", 1.0),
        ("quic_handshake_finish", 1.0),
        ("quic_handshake_confirm", 1.0),
    ] {
        let samples = measure(&only(kernel)[0], 1).expect("nothing can refuse it");
        let opened = samples["opened_datagrams"][0];
        assert_eq!(opened > 0.0, least > 0.0, "{kernel}");
        assert!((least..=4.0).contains(&opened), "{kernel} {opened}");
        assert!(samples["cpu_s"][0] > 0.0);
    }
}
