//! What of the options cannot be.

use super::ports::PORT_MAX;
use super::{DialOptions, TradeError};

/// Whether a trade with these options can be.
///
/// # Errors
/// The first option that cannot be, with the reason.
pub fn check(options: &DialOptions) -> Result<(), TradeError> {
    let port = options.peer.port();
    refuse(port == 0 || port > PORT_MAX, "peer", || {
        format!("port {port} is not from 1 to {PORT_MAX}: two more ports follow it")
    })?;
    refuse(options.peer.ip().is_unspecified(), "peer", || {
        format!(
            "{} is every address; answers come from one",
            options.peer.ip()
        )
    })?;
    refuse(options.rates_per_s.is_empty(), "rate", || {
        "there is none".to_owned()
    })?;
    for &rate in &options.rates_per_s {
        let possible = rate.is_finite() && rate > 0.0 && rate <= RATE_MAX_PER_S;
        refuse(!possible, "rate", || {
            format!("{rate}/s is not above 0 and at most {RATE_MAX_PER_S}/s")
        })?;
    }
    let payload = options.payload_bytes;
    refuse(payload > PAYLOAD_BYTES_MAX, "payload", || {
        format!("{payload} B are more than {PAYLOAD_BYTES_MAX} B, which still fit a datagram")
    })?;
    let (duration, pause) = (options.duration.as_secs_f64(), options.pause.as_secs_f64());
    refuse(
        !(DURATION_MIN_S..=DAY_S).contains(&duration),
        "duration",
        || format!("{duration} s are not from {DURATION_MIN_S} s to {DAY_S} s"),
    )?;
    refuse(pause > DAY_S, "pause", || {
        format!("{pause} s are more than {DAY_S} s")
    })?;
    check_repetitions(options)
}

fn check_repetitions(options: &DialOptions) -> Result<(), TradeError> {
    let all = options.repetitions as usize * options.rates_per_s.len();
    refuse(all == 0 || all > REPETITIONS_MAX, "repetitions", || {
        format!("{all} over all rates are not from 1 to {REPETITIONS_MAX}")
    })?;
    let slowest = options
        .rates_per_s
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    let proposals = slowest * options.duration.as_secs_f64();
    refuse(proposals < 1.0, "duration", || {
        format!("at {slowest}/s not one block is proposed in that time")
    })
}

fn refuse(
    impossible: bool,
    option: &'static str,
    reason: impl FnOnce() -> String,
) -> Result<(), TradeError> {
    match impossible {
        true => Err(TradeError::Option(option, reason())),
        false => Ok(()),
    }
}

/// Beyond what a sender thread that sleeps in between can keep.
const RATE_MAX_PER_S: f64 = 100_000.0;
/// A block has [`super::node::BESIDES_PAYLOAD_BYTES`] besides, a UDP payload 65 507 over IPv4.
const PAYLOAD_BYTES_MAX: u32 = 64_000;
/// Shorter ones measure the start alone.
const DURATION_MIN_S: f64 = 0.01;
/// Longer ones are a mistake.
const DAY_S: f64 = 86_400.0;
/// As many as a listener remembers.
const REPETITIONS_MAX: usize = 4_096;
