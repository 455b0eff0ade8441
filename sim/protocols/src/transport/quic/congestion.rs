//! How much may be in flight, and how long a round trip takes.
//!
//! Slow start; after the first loss growth by CUBIC's law, or by Reno's where that is
//! faster; multiplicative decrease: what quinn's default controller does (quinn-proto 0.11.19
//! `congestion/cubic.rs`). How soon packets follow each other is in `pacing`.

use super::recovery::MAX_ACK_DELAY_S;
use crate::contract::Seconds;

/// Round-trip estimates of one path (RFC 9002 section 5).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    smoothed_s: Seconds,
    variance_s: Seconds,
    min_s: Seconds,
    latest_s: Seconds,
    /// How long the peer held the acknowledgement of the latest.
    latest_delay_s: Seconds,
}

impl Rtt {
    /// Before the first sample; an assumed round trip of 0 is one of [`INITIAL_RTT_S`].
    pub const fn new(assumed_s: Seconds) -> Self {
        let assumed_s = if assumed_s > 0.0 {
            assumed_s
        } else {
            INITIAL_RTT_S
        };
        Self {
            smoothed_s: assumed_s,
            variance_s: assumed_s / 2.0,
            min_s: Seconds::INFINITY,
            latest_s: assumed_s,
            latest_delay_s: 0.0,
        }
    }

    /// Takes a sample, of which the peer says it held `ack_delay_s`.
    pub fn update(&mut self, sample_s: Seconds, ack_delay_s: Seconds) {
        (self.latest_s, self.latest_delay_s) = (sample_s, ack_delay_s);
        if self.min_s.is_infinite() {
            (self.min_s, self.smoothed_s, self.variance_s) = (sample_s, sample_s, sample_s / 2.0);
            return;
        }
        self.min_s = self.min_s.min(sample_s);
        let delayed = self.min_s + ack_delay_s <= sample_s;
        let adjusted_s = if delayed {
            sample_s - ack_delay_s
        } else {
            sample_s
        };
        let deviation_s = (self.smoothed_s - adjusted_s).abs();
        self.variance_s = 0.75 * self.variance_s + 0.25 * deviation_s;
        self.smoothed_s = 0.875 * self.smoothed_s + 0.125 * adjusted_s;
    }

    /// Takes the latest sample so many times more.
    pub fn repeat(&mut self, times: u64) {
        for _ in 0..times.min(SAMPLES_MAX) {
            self.update(self.latest_s, self.latest_delay_s);
        }
    }

    /// The probe timeout without the peer's acknowledgement delay.
    pub fn probe_timeout_s(&self) -> Seconds {
        self.smoothed_s + (4.0 * self.variance_s).max(TIMER_GRANULARITY_S)
    }

    /// For how long after an acknowledgement none rides along that nothing asks for: until the peer
    /// can have confirmed it (quinn-proto 0.11.19 `Connection::next_bundled_ack_delay`).
    pub fn bundling_pause_s(&self) -> Seconds {
        self.smoothed_s + MAX_ACK_DELAY_S + TIMER_GRANULARITY_S
    }

    /// A packet older than this is lost once a later one is acknowledged.
    pub fn loss_delay_s(&self) -> Seconds {
        (TIME_THRESHOLD * self.smoothed_s.max(self.latest_s)).max(TIMER_GRANULARITY_S)
    }

    /// The smoothed round-trip time.
    pub fn smoothed_s(&self) -> Seconds {
        self.smoothed_s
    }
}

/// The congestion window of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    window_bytes: f64,
    threshold_bytes: f64,
    peak_bytes: f64,
    /// How long after the last loss the window is to be at its peak again: K of RFC 9438 4.2.
    back_at_peak_s: Seconds,
    /// What the window has gained of the next datagram that it grows by.
    gained_bytes: f64,
    in_flight_bytes: u32,
    recovery_since_s: Seconds,
    /// The largest datagram.
    datagram_bytes: f64,
    /// Whether something waits for more window, or for its turn.
    pub blocked: bool,
}

impl Congestion {
    /// The initial window, nothing in flight.
    pub const fn new() -> Self {
        Self {
            window_bytes: INITIAL_WINDOW_BYTES,
            threshold_bytes: f64::INFINITY,
            peak_bytes: 0.0,
            back_at_peak_s: 0.0,
            gained_bytes: 0.0,
            in_flight_bytes: 0,
            recovery_since_s: Seconds::NEG_INFINITY,
            datagram_bytes: DATAGRAM_BYTES,
            blocked: false,
        }
    }

    /// As at the beginning, on another path; what is in flight on the old one stays so.
    pub fn restart(&mut self) {
        *self = Self {
            in_flight_bytes: self.in_flight_bytes,
            blocked: self.blocked,
            ..Self::new()
        };
    }

    /// How much may be in flight, in whole bytes.
    pub fn window_bytes(&self) -> u64 {
        self.window_bytes as u64
    }

    /// Whether a full packet more may leave, and some of the window be left
    /// (quinn-proto `Connection::poll_transmit`).
    pub fn allows(&self) -> bool {
        f64::from(self.in_flight_bytes) + self.datagram_bytes < self.window_bytes
    }

    /// Datagrams may be so large (quinn-proto `Cubic::on_mtu_update`).
    pub fn on_mtu(&mut self, bytes: u32) {
        self.datagram_bytes = f64::from(bytes);
        self.window_bytes = self.window_bytes.max(self.least_bytes());
    }

    /// A packet left.
    pub fn on_sent(&mut self, bytes: u32) {
        self.in_flight_bytes += bytes;
    }

    /// A packet no longer counts.
    pub fn on_gone(&mut self, bytes: u32) {
        self.in_flight_bytes -= bytes;
    }

    /// A packet sent at `sent_s` was acknowledged.
    pub fn on_acknowledged(&mut self, bytes: u32, sent_s: Seconds, rtt: &Rtt, now: Seconds) {
        self.on_gone(bytes);
        // An application that sends less than the window learns nothing about it.
        if !self.blocked || sent_s <= self.recovery_since_s {
            return;
        }
        if self.window_bytes < self.threshold_bytes {
            self.window_bytes += f64::from(bytes);
            return;
        }
        if self.recovery_since_s == Seconds::NEG_INFINITY {
            // It grew as far as it may after congestion that persisted.
            (self.recovery_since_s, self.peak_bytes) = (now, self.window_bytes);
            self.back_at_peak_s = 0.0;
        }
        let since_loss_s = now - self.recovery_since_s;
        let cubic_bytes = self.cubic_bytes(since_loss_s + rtt.smoothed_s());
        let reno_bytes = self.reno_bytes(since_loss_s, rtt.smoothed_s());
        self.gained_bytes += if cubic_bytes < reno_bytes {
            (reno_bytes - self.window_bytes).max(0.0)
        } else {
            (cubic_bytes - self.window_bytes).max(0.0) / self.window_bytes * self.datagram_bytes
        };
        if self.gained_bytes >= self.datagram_bytes {
            self.window_bytes += self.datagram_bytes;
            self.gained_bytes = 0.0;
        }
    }

    /// Packets were lost, the newest of them sent at `sent_s`; one decrease per round trip. If it
    /// `persists`, the window begins anew (RFC 9002 7.6.2).
    pub fn on_congestion(&mut self, sent_s: Seconds, persists: bool, now: Seconds) {
        if sent_s <= self.recovery_since_s {
            return;
        }
        self.recovery_since_s = now;
        // Who has not come back to the last peak makes room (fast convergence, RFC 9438 4.7).
        self.peak_bytes = match self.window_bytes < self.peak_bytes {
            true => self.window_bytes * (1.0 + CUBIC_BETA) / 2.0,
            false => self.window_bytes,
        };
        let peak = self.peak_bytes / self.datagram_bytes;
        self.back_at_peak_s = (peak * (1.0 - CUBIC_BETA) / CUBIC_C).cbrt();
        self.gained_bytes *= CUBIC_BETA;
        self.window_bytes = self.decreased_bytes();
        self.threshold_bytes = self.window_bytes;
        if persists {
            self.recovery_since_s = Seconds::NEG_INFINITY;
            self.peak_bytes = self.window_bytes;
            self.threshold_bytes = self.decreased_bytes();
            self.gained_bytes = 0.0;
            self.window_bytes = self.least_bytes();
        }
    }

    fn decreased_bytes(&self) -> f64 {
        (self.window_bytes * CUBIC_BETA).max(self.least_bytes())
    }

    fn least_bytes(&self) -> f64 {
        2.0 * self.datagram_bytes
    }

    /// What Reno would have by now, which grows by round trips instead of by time
    /// (RFC 9438 section 4.3; quinn-proto congestion/cubic.rs `State::w_est`).
    fn reno_bytes(&self, since_loss_s: Seconds, round_trip_s: Seconds) -> f64 {
        let round_trips = since_loss_s / round_trip_s;
        let grown = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA) * round_trips;
        self.peak_bytes * CUBIC_BETA + grown * self.datagram_bytes
    }

    /// W(t) of RFC 9438 section 4.2.
    fn cubic_bytes(&self, since_loss_s: Seconds) -> f64 {
        let peak = self.peak_bytes / self.datagram_bytes;
        (CUBIC_C * (since_loss_s - self.back_at_peak_s).powi(3) + peak) * self.datagram_bytes
    }
}

/// Before any sample (RFC 9002 6.2.2; quinn-proto `TransportConfig::default`).
const INITIAL_RTT_S: Seconds = 0.333;

/// After so many equal samples the next changes nothing: 0.875^300 is 4e-18.
const SAMPLES_MAX: u64 = 300;

/// Timers finer than this are noise (RFC 9002 6.1.2).
const TIMER_GRANULARITY_S: Seconds = 0.001;

/// Of a round trip, when reordering counts as loss (RFC 9002 6.1.2).
const TIME_THRESHOLD: f64 = 9.0 / 8.0;

/// One full datagram: the initial and minimal MTU of quinn.
const DATAGRAM_BYTES: f64 = 1200.0;

/// 14720 bytes clamped to ten datagrams (quinn-proto `CubicConfig::default`, RFC 9002 7.2).
const INITIAL_WINDOW_BYTES: f64 = 12_000.0;

/// RFC 9438 sections 4.6 and 5; quinn-proto `CubicConfig`.
const CUBIC_BETA: f64 = 0.7;
const CUBIC_C: f64 = 0.4;

#[cfg(test)]
mod tests {
    use super::{Congestion, Rtt};

    #[test]
    fn the_first_handshake_probe_is_after_999_ms() {
        assert!((Rtt::new(0.0).probe_timeout_s() - 0.999).abs() < 1e-12);
    }

    #[test]
    fn the_first_probe_waits_for_three_assumed_round_trips() {
        let mut rtt = Rtt::new(0.1);
        assert!((rtt.probe_timeout_s() - 0.3).abs() < 1e-12);
        rtt.update(0.02, 0.0);
        assert!(
            (rtt.smoothed_s() - 0.02).abs() < 1e-12,
            "a sample replaces it"
        );
    }

    #[test]
    fn a_steady_path_is_learnt() {
        let mut rtt = Rtt::new(0.0);
        for _ in 0..200 {
            rtt.update(0.020 + 0.025, 0.025);
        }
        assert!(
            (rtt.smoothed_s() - 0.045).abs() < 1e-9,
            "min_rtt bounds the correction"
        );
        assert!((rtt.probe_timeout_s() - 0.046).abs() < 1e-6);
    }

    /// A full packet sent at `sent_s` is lost, and known to be at `now`.
    fn lose(path: &mut Congestion, sent_s: f64, now: f64) {
        path.on_gone(1200);
        path.on_congestion(sent_s, false, now);
    }

    #[test]
    fn what_persists_takes_the_window_to_two_packets_and_it_starts_slowly() {
        let (mut path, rtt) = (Congestion::new(), Rtt::new(0.0));
        path.window_bytes = 100_000.0;
        path.blocked = true;
        path.on_congestion(0.0, true, 1.0);
        assert_eq!(path.window_bytes, 2400.0);
        for _ in 0..60 {
            path.on_sent(1200);
            path.on_acknowledged(1200, 0.9, &rtt, 1.1);
        }
        // By a packet for each, until 0.7 of what one loss would have left.
        let left = 100_000.0 * 0.7 * 0.7;
        assert!(
            (path.window_bytes - left).abs() <= 1200.0,
            "{}",
            path.window_bytes
        );
        assert!(path.cubic_bytes(0.0) == path.peak_bytes, "from there on");
    }

    #[test]
    fn slow_start_doubles_and_loss_takes_three_tenths() {
        let (mut path, rtt) = (Congestion::new(), Rtt::new(0.0));
        for _ in 0..9 {
            assert!(path.allows());
            path.on_sent(1200);
        }
        assert!(!path.allows(), "a tenth would leave nothing of the window");
        path.blocked = true;
        for _ in 0..9 {
            path.on_acknowledged(1200, 0.0, &rtt, 0.1);
            path.on_sent(1200);
        }
        assert_eq!(path.window_bytes, 22_800.0);
        lose(&mut path, 0.05, 0.2);
        lose(&mut path, 0.06, 0.2);
        assert_eq!(path.window_bytes, 22_800.0 * 0.7);
    }

    #[test]
    fn who_has_nothing_to_send_learns_nothing() {
        for (blocked, window_bytes) in [(false, 12_000), (true, 13_200)] {
            let (mut path, rtt) = (Congestion::new(), Rtt::new(0.0));
            path.on_sent(1200);
            path.blocked = blocked;
            path.on_acknowledged(1200, 0.0, &rtt, 0.1);
            assert_eq!(path.window_bytes(), window_bytes);
        }
    }

    /// Acknowledges a full window every `round_trip_s` for `span_s` after a loss, and says how large
    /// the window is then, in datagrams.
    fn window_after(span_s: f64, round_trip_s: f64) -> f64 {
        let (mut path, mut rtt) = (Congestion::new(), Rtt::new(0.0));
        path.window_bytes = 100.0 * 1200.0;
        path.blocked = true;
        path.on_sent(1200);
        lose(&mut path, 0.0, 0.0);
        assert_eq!(path.window_bytes(), 84_000);
        for trip in 1..=(span_s / round_trip_s).round() as u32 {
            let now = round_trip_s * f64::from(trip);
            rtt.update(round_trip_s, 0.0);
            let datagrams = (path.window_bytes / 1200.0) as u32;
            (0..datagrams).for_each(|_| path.on_sent(1200));
            for _ in 0..datagrams {
                path.on_acknowledged(1200, now - round_trip_s / 2.0, &rtt, now);
            }
        }
        path.window_bytes / 1200.0
    }

    #[test]
    fn short_round_trips_grow_the_window_as_reno_does() {
        // A loss at 100 datagrams takes cubic 4.2 s to make up for; Reno gains 3 * 0.3 / 1.7 of one
        // with each round trip.
        let reno = 70.0 + 0.9 / 1.7 * 40.0;
        let found = window_after(0.2, 0.005);
        assert!((found - reno).abs() < 2.0, "{found} datagrams, Reno {reno}");
        let cubic = 100.0 + 0.4 * (2.0 - (100.0f64 * 0.3 / 0.4).cbrt()).powi(3);
        let found = window_after(2.0, 0.1);
        assert!(
            (found - cubic).abs() < 3.0,
            "{found} datagrams, cubic {cubic}"
        );
    }

    #[test]
    fn who_is_not_back_at_the_peak_makes_room() {
        let mut path = Congestion::new();
        path.on_sent(2400);
        lose(&mut path, 0.0, 0.0);
        lose(&mut path, 1.0, 1.0);
        assert_eq!(path.window_bytes, 12_000.0 * 0.7 * 0.7);
        assert_eq!(path.peak_bytes, 12_000.0 * 0.7 * 0.85);
    }

    #[test]
    fn cubic_returns_to_its_peak() {
        let mut path = Congestion::new();
        path.on_sent(1200);
        lose(&mut path, 0.0, 0.0);
        let back_s = (10.0f64 * 0.3 / 0.4).cbrt();
        assert!((path.cubic_bytes(back_s) - 12_000.0).abs() < 1e-6);
        assert!((path.cubic_bytes(0.0) - 8400.0).abs() < 1e-6);
    }
}
