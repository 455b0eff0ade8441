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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::trade::Carrier;

    fn options() -> DialOptions {
        DialOptions::new(([192, 0, 2, 1], 4_747).into(), Carrier::Udp)
    }

    /// The option that cannot be after a change, if any.
    fn refused(change: impl FnOnce(&mut DialOptions)) -> Option<&'static str> {
        let mut options = options();
        change(&mut options);
        match check(&options) {
            Ok(()) => None,
            Err(TradeError::Option(option, reason)) => {
                assert!(!reason.is_empty());
                Some(option)
            }
            Err(TradeError::Io(error)) => panic!("nothing was tried: {error}"),
        }
    }

    #[test]
    fn the_experiment_of_the_thesis_is_possible() {
        assert_eq!(refused(|_| {}), None);
    }

    #[test]
    fn two_more_ports_follow_that_of_the_peer() {
        assert_eq!(refused(|options| options.peer.set_port(65_533)), None);
        assert_eq!(
            refused(|options| options.peer.set_port(65_534)),
            Some("peer")
        );
    }

    #[test]
    fn a_rate_is_above_nothing_and_at_most_what_a_thread_keeps() {
        let rates = |rates: &[f64]| refused(|options| options.rates_per_s = rates.to_vec());
        assert_eq!(rates(&[1.0, 100_000.0]), None);
        for impossible in [0.0, -1.0, 100_001.0, f64::INFINITY, f64::NAN] {
            assert_eq!(rates(&[1.0, impossible]), Some("rate"), "{impossible}");
        }
    }

    #[test]
    fn a_payload_fits_a_datagram_with_its_block() {
        assert_eq!(refused(|options| options.payload_bytes = 64_000), None);
        let larger = refused(|options| options.payload_bytes = 64_001);
        assert_eq!(larger, Some("payload"));
    }

    #[test]
    fn a_repetition_lasts_from_a_hundredth_of_a_second_to_a_day() {
        let lasts = |duration_s| {
            refused(|options| {
                options.rates_per_s = vec![1_000.0];
                options.duration = Duration::from_secs_f64(duration_s);
            })
        };
        assert_eq!(lasts(0.01), None);
        assert_eq!(lasts(86_400.0), None);
        assert_eq!(lasts(0.009), Some("duration"));
        assert_eq!(lasts(86_401.0), Some("duration"));
    }

    #[test]
    fn a_pause_lasts_a_day_at_most_and_may_be_none() {
        let pauses = |pause_s| refused(|options| options.pause = Duration::from_secs(pause_s));
        assert_eq!(pauses(0), None);
        assert_eq!(pauses(86_400), None);
        assert_eq!(pauses(86_401), Some("pause"));
    }

    #[test]
    fn the_repetitions_of_all_rates_together_are_counted() {
        let all = |repetitions, rates| {
            refused(|options| {
                options.repetitions = repetitions;
                options.rates_per_s = vec![16.0; rates];
            })
        };
        assert_eq!(all(2_048, 2), None);
        assert_eq!(all(2_049, 2), Some("repetitions"));
        assert_eq!(all(0, 2), Some("repetitions"));
    }

    #[test]
    fn the_slowest_rate_proposes_at_least_one_block() {
        let lasts = |duration_s| {
            refused(|options| {
                options.rates_per_s = vec![16.0, 0.5];
                options.duration = Duration::from_secs(duration_s);
            })
        };
        assert_eq!(lasts(2), None);
        assert_eq!(lasts(1), Some("duration"));
    }
}
