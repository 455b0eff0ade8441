//! The kernels whose names, parameters and quantities calibration relies on.
//!
//! A report may hold more: another version of the probe may measure what this one does not know.

use crate::kernel::Group;

/// What calibration relies on for one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Name.
    pub kernel: &'static str,
    /// Where it belongs.
    pub group: Group,
    /// Parameters that it must have.
    pub parameters: &'static [&'static str],
    /// Quantities that a measured case must have; it may have more.
    pub quantities: &'static [&'static str],
}

/// The kernel of that name, if calibration relies on it.
pub fn known(kernel: &str) -> Option<&'static Known> {
    KERNELS.iter().find(|known| known.kernel == kernel)
}

const fn entry(
    kernel: &'static str,
    group: Group,
    parameters: &'static [&'static str],
    quantities: &'static [&'static str],
) -> Known {
    Known {
        kernel,
        group,
        parameters,
        quantities,
    }
}

const BYTES: &[&str] = &["bytes"];
const RECIPIENTS: &[&str] = &["recipients"];
const TOKENS: &[&str] = &["tokens"];
const WALL: &[&str] = &["wall_s"];
const CPU: &[&str] = &["cpu_s"];
const BOTH: &[&str] = &["wall_s", "cpu_s"];
const TRADE: &[&str] = &["propose_s", "countersign_s", "complete_s"];
const RTT: &[&str] = &["rtt_s"];
const GOODPUT: &[&str] = &["goodput_bytes_per_s"];

/// Every kernel that calibration relies on, by group.
pub const KERNELS: &[Known] = &[
    entry("ed25519_key_generation", Group::Crypto, &[], BOTH),
    entry("ed25519_sign", Group::Crypto, BYTES, BOTH),
    entry("ed25519_verify", Group::Crypto, BYTES, BOTH),
    entry(
        "ed25519_verify_batch",
        Group::Crypto,
        &["bytes", "signatures"],
        BOTH,
    ),
    entry("sha256", Group::Crypto, BYTES, BOTH),
    entry("x25519_key_agreement", Group::Crypto, &[], BOTH),
    entry("sealed_box_seal", Group::Crypto, BYTES, BOTH),
    entry("sealed_box_open", Group::Crypto, BYTES, BOTH),
    entry("chacha20_poly1305_seal", Group::Crypto, BYTES, BOTH),
    entry("chacha20_poly1305_open", Group::Crypto, BYTES, BOTH),
    entry("aes_128_gcm_seal", Group::Crypto, BYTES, BOTH),
    entry("aes_128_gcm_open", Group::Crypto, BYTES, BOTH),
    entry("aes_256_gcm_seal", Group::Crypto, BYTES, BOTH),
    entry("aes_256_gcm_open", Group::Crypto, BYTES, BOTH),
    entry("block_encode", Group::Serialisation, BYTES, BOTH),
    entry("block_decode", Group::Serialisation, BYTES, BOTH),
    entry("half_block_encode", Group::Serialisation, BYTES, BOTH),
    entry("half_block_decode", Group::Serialisation, BYTES, BOTH),
    entry("token_encode", Group::Serialisation, RECIPIENTS, BOTH),
    entry("token_decode", Group::Serialisation, RECIPIENTS, BOTH),
    entry("token_mint_bookkeeping", Group::Serialisation, TOKENS, BOTH),
    entry("token_pay_bookkeeping", Group::Serialisation, TOKENS, BOTH),
    entry(
        "token_request_bookkeeping",
        Group::Serialisation,
        TOKENS,
        BOTH,
    ),
    entry(
        "token_refuse_bookkeeping",
        Group::Serialisation,
        TOKENS,
        BOTH,
    ),
    entry(
        "token_receive_bookkeeping",
        Group::Serialisation,
        TOKENS,
        BOTH,
    ),
    entry(
        "token_submit_bookkeeping",
        Group::Serialisation,
        TOKENS,
        BOTH,
    ),
    entry(
        "token_verify_bookkeeping",
        Group::Serialisation,
        TOKENS,
        BOTH,
    ),
    entry(
        "token_settle_bookkeeping",
        Group::Serialisation,
        TOKENS,
        BOTH,
    ),
    entry(
        "token_submit_redeem_bookkeeping",
        Group::Serialisation,
        TOKENS,
        BOTH,
    ),
    entry(
        "token_verify_redeem_bookkeeping",
        Group::Serialisation,
        TOKENS,
        BOTH,
    ),
    entry(
        "token_settle_redeem_bookkeeping",
        Group::Serialisation,
        TOKENS,
        BOTH,
    ),
    entry("file_append", Group::Storage, BYTES, WALL),
    entry("file_append_fsync", Group::Storage, BYTES, WALL),
    entry("file_replace_fsync", Group::Storage, BYTES, WALL),
    entry("file_create_fsync", Group::Storage, BYTES, WALL),
    entry("memory_file_append_fsync", Group::Storage, BYTES, WALL),
    entry("memory_file_replace_fsync", Group::Storage, BYTES, WALL),
    entry("memory_file_create_fsync", Group::Storage, BYTES, WALL),
    entry("file_read", Group::Storage, BYTES, WALL),
    entry("file_open_read", Group::Storage, BYTES, WALL),
    entry("sqlite_insert_commit", Group::Storage, BYTES, WALL),
    entry("sqlite_read", Group::Storage, BYTES, WALL),
    entry("output_destination", Group::Storage, &[], BOTH),
    entry(
        "sleep_overshoot",
        Group::Scheduling,
        &["requested_s"],
        &["overshoot_s"],
    ),
    entry("thread_spawn", Group::Scheduling, &[], BOTH),
    entry("wake_up_latency", Group::Scheduling, &[], &["latency_s"]),
    entry("task_spawn", Group::Scheduling, &[], &[]),
    entry("timed_sleep", Group::Scheduling, &[], &[]),
    entry("timer_interrupt", Group::Scheduling, &[], &[]),
    entry("kernel_tick", Group::Scheduling, &[], &[]),
    entry("udp_send", Group::Udp, BYTES, &[]),
    entry("udp_receive", Group::Udp, BYTES, &[]),
    entry(
        "udp_buffer_capacity",
        Group::Udp,
        &["bytes", "buffer_bytes"],
        &["capacity_datagrams"],
    ),
    entry("udp_round_trip", Group::Udp, BYTES, RTT),
    entry(
        "udp_wake_up",
        Group::Udp,
        &["bytes", "rest_s"],
        &["latency_s", "sent_s", "rtt_s"],
    ),
    entry("trade_at_pace", Group::Udp, &[], TRADE),
    entry("trade_bookkeeping", Group::Udp, &[], TRADE),
    entry("tftp_file", Group::Udp, &["blocks", "rest_s"], &["file_s"]),
    entry(
        "tftp_turn",
        Group::Udp,
        &["rest_s"],
        &["taken_s", "given_s"],
    ),
    entry(
        "quic_message_at_pace",
        Group::Quic,
        &["bytes", "rest_s"],
        RTT,
    ),
    entry("quic_reconnect_at_pace", Group::Quic, &["rest_s"], RTT),
    entry(
        "quic_trades_at_once",
        Group::Quic,
        &["payload_bytes", "trades"],
        &["proposer_cpu_s", "countersigner_cpu_s"],
    ),
    entry("quic_handshake", Group::Quic, &[], BOTH),
    entry("quic_handshake_start", Group::Quic, &[], CPU),
    entry("quic_handshake_respond", Group::Quic, &[], CPU),
    entry("quic_handshake_finish", Group::Quic, &[], CPU),
    entry("quic_handshake_confirm", Group::Quic, &[], CPU),
    entry("quic_packet_seal", Group::Quic, BYTES, &[]),
    entry("quic_packet_open", Group::Quic, BYTES, &[]),
    entry("quic_stream_open", Group::Quic, &[], &[]),
    entry("quic_stream_accept", Group::Quic, &[], &[]),
    entry("quic_endpoint_setup", Group::Quic, &[], &[]),
    entry("quic_endpoint_close", Group::Quic, &[], &[]),
    entry("quic_message_keep", Group::Quic, BYTES, &[]),
    entry("quic_message_reconnect", Group::Quic, BYTES, &[]),
    entry(
        "quic_handshakes_concurrent",
        Group::Quic,
        &["connections"],
        &[],
    ),
    entry("link_udp_rtt", Group::Link, BYTES, RTT),
    entry("link_quic_rtt", Group::Link, BYTES, RTT),
    entry(
        "link_udp_rtt_loaded",
        Group::Link,
        &["bytes", "rate_bytes_per_s"],
        RTT,
    ),
    entry("link_udp_send", Group::Link, BYTES, BOTH),
    entry("link_udp_receive", Group::Link, BYTES, BOTH),
    entry("link_udp_goodput", Group::Link, BYTES, GOODPUT),
    entry("link_quic_goodput", Group::Link, &[], GOODPUT),
    entry("link_udp_loss", Group::Link, BYTES, &["loss_ratio"]),
    entry(
        "link_udp_reordering",
        Group::Link,
        BYTES,
        &["reordered_ratio"],
    ),
    entry("battery_current", Group::Battery, &[], &["current_a"]),
];
