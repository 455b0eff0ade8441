//! How soon packets follow each other, of a window that has room for them.
//!
//! A bucket of bytes, as in quinn-proto 0.11.19 (`connection/pacing.rs`). A full packet has to fit
//! into what is left in it; each takes its bytes out. What has too little left first gains what a
//! window and a quarter per round trip come to since it last gained something, and if that is too
//! little, too, nothing leaves until it is full. It holds what the window sends in 2 ms, though ten
//! full packets at least and 256 at most. So a message of ten packets is never held up, nor twenty
//! that follow a silence; what is left of a larger window is spread over the round trip.
//!
//! Bytes and nanoseconds are whole, as there, so that the dates are the same
//! (`tests/vectors/pacing.json`). What deliberately does not live here: which packets wait for it
//! ([`super::flush`]).

use super::wire::MTU_BYTES;
use crate::contract::Seconds;

/// The bucket of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    capacity_bytes: u64,
    left_bytes: u64,
    /// The window and the full packet that it was measured for.
    window_bytes: u64,
    packet_bytes: u64,
    /// When it last gained something.
    filled_s: Seconds,
}

impl Pacer {
    /// A full bucket for a path's first window.
    pub fn new(window_bytes: u64, smoothed_s: Seconds) -> Self {
        let packet_bytes = u64::from(MTU_BYTES);
        let capacity_bytes = capacity_bytes(window_bytes, packet_bytes, nanoseconds(smoothed_s));
        Self {
            capacity_bytes,
            left_bytes: capacity_bytes,
            window_bytes,
            packet_bytes,
            // quinn starts with the connection, a round trip at least before this is asked for.
            filled_s: Seconds::NEG_INFINITY,
        }
    }

    /// A packet left.
    pub fn on_sent(&mut self, bytes: u32) {
        self.left_bytes = self.left_bytes.saturating_sub(u64::from(bytes));
    }

    /// Until when a full packet, of so many bytes, has to wait; none if it may leave now.
    pub fn waits_until(
        &mut self,
        packet_bytes: u32,
        window_bytes: u64,
        smoothed_s: Seconds,
        now: Seconds,
    ) -> Option<Seconds> {
        let round_trip_ns = nanoseconds(smoothed_s);
        let packet_bytes = u64::from(packet_bytes);
        if (window_bytes, packet_bytes) != (self.window_bytes, self.packet_bytes) {
            (self.window_bytes, self.packet_bytes) = (window_bytes, packet_bytes);
            self.capacity_bytes = capacity_bytes(window_bytes, packet_bytes, round_trip_ns);
            self.left_bytes = self.left_bytes.min(self.capacity_bytes);
        }
        if self.has_packet() || round_trip_ns == 0 {
            return None;
        }
        self.fill(round_trip_ns, now);
        if self.has_packet() {
            return None;
        }
        let missing_bytes = self.capacity_bytes - self.left_bytes;
        let window_ns = round_trip_ns * missing_bytes / window_bytes;
        // In this order, as its nanoseconds are quinn's.
        let wait_ns = window_ns / 5 * 4;
        Some(now + wait_ns as f64 * 1e-9)
    }

    /// So many packets of this size left, each after a silence that fills the bucket.
    pub fn pass(&mut self, packets: u64, bytes: u32) {
        let until_filled = |left_bytes: u64| match left_bytes.checked_sub(self.packet_bytes) {
            Some(beyond_bytes) => beyond_bytes / u64::from(bytes) + 1,
            None => 0,
        };
        let first = until_filled(self.left_bytes);
        let taken = match packets.checked_sub(first + 1) {
            None => packets,
            Some(more) => {
                self.left_bytes = self.capacity_bytes;
                more % until_filled(self.capacity_bytes) + 1
            }
        };
        self.left_bytes -= taken * u64::from(bytes);
    }

    fn has_packet(&self) -> bool {
        self.left_bytes >= self.packet_bytes
    }

    fn fill(&mut self, round_trip_ns: u64, now: Seconds) {
        let round_trips = nanoseconds(now - self.filled_s) as f64 / round_trip_ns as f64;
        let gained_bytes = self.window_bytes as f64 * WINDOWS_PER_ROUND_TRIP * round_trips;
        let left_bytes = self.left_bytes.saturating_add(gained_bytes as u64);
        self.left_bytes = left_bytes.min(self.capacity_bytes);
        self.filled_s = now;
    }
}

fn capacity_bytes(window_bytes: u64, packet_bytes: u64, round_trip_ns: u64) -> u64 {
    let [least, most] = BURST_PACKETS.map(|packets| packets * packet_bytes);
    let bytes = window_bytes * BURST_NS / round_trip_ns.max(1);
    bytes.clamp(least, most)
}

fn nanoseconds(time_s: Seconds) -> u64 {
    (time_s * 1e9).round() as u64
}

/// RFC 9002 7.7 suggests it; quinn-proto `Pacer::delay`.
const WINDOWS_PER_ROUND_TRIP: f64 = 1.25;

/// Timers of user space may be no finer than a millisecond (quinn-proto `BURST_INTERVAL_NANOS`).
const BURST_NS: u64 = 2_000_000;

/// Of full packets: enough for a handshake, and what takes a millisecond to make (quinn-proto
/// `MIN_BURST_SIZE`, `MAX_BURST_SIZE`).
const BURST_PACKETS: [u64; 2] = [10, 256];

#[cfg(test)]
mod tests {
    use super::*;

    /// What was asked of quinn's pacer and what it said.
    fn vectors() -> serde_json::Value {
        let vectors = include_str!("../../../../../tests/vectors/pacing.json");
        serde_json::from_str(vectors).expect("JSON")
    }

    fn number(row: &serde_json::Value, key: &str) -> u64 {
        row[key].as_u64().expect("a number")
    }

    fn time_s(row: &serde_json::Value, key: &str) -> Seconds {
        number(row, key) as f64 * 1e-6
    }

    fn from_start(case: &serde_json::Value) -> Pacer {
        let (window_bytes, smoothed_s) =
            (number(case, "window_bytes"), time_s(case, "round_trip_us"));
        Pacer {
            filled_s: 0.0,
            ..Pacer::new(window_bytes, smoothed_s)
        }
    }

    #[test]
    fn packets_wait_as_long_as_quinn_s() {
        for case in vectors()["cases"].as_array().expect("cases") {
            let mut pacer = from_start(case);
            for row in case["asked"].as_array().expect("rows") {
                let now = time_s(row, "now_us");
                let mut waits_s = || {
                    let (window_bytes, smoothed_s) =
                        (number(row, "window_bytes"), time_s(row, "round_trip_us"));
                    let until_s = pacer.waits_until(MTU_BYTES, window_bytes, smoothed_s, now);
                    if until_s.is_none() {
                        pacer.on_sent(MTU_BYTES);
                    }
                    until_s.map(|until_s| ((until_s - now) * 1e9).round() as u64)
                };
                let packets = number(row, "packets");
                let left = (0..packets).map_while(|_| waits_s().is_none().then_some(()));
                assert_eq!(left.count() as u64, packets, "{row}");
                if let Some(wait_ns) = row["wait_ns"].as_u64() {
                    assert_eq!(waits_s(), Some(wait_ns), "{row}");
                }
            }
        }
    }

    #[test]
    fn small_packets_after_silences_take_what_they_take_one_by_one() {
        let (window_bytes, smoothed_s, bytes) = (24_000, 0.1, 28);
        for before in [0, 300, 10_900, 11_990] {
            for packets in [0, 1, 5, 380, 386, 387, 5_000] {
                let mut passed = Pacer::new(12_000, smoothed_s);
                passed.waits_until(MTU_BYTES, window_bytes, smoothed_s, 0.0);
                passed.on_sent(before);
                let mut asked = passed;
                passed.pass(packets, bytes);
                for second in 0..packets {
                    let now = 1.0 + second as f64;
                    let turn_s = asked.waits_until(MTU_BYTES, window_bytes, smoothed_s, now);
                    assert_eq!(turn_s, None);
                    asked.on_sent(bytes);
                }
                let what = format!("{packets} after {before} bytes");
                assert_eq!(passed.left_bytes, asked.left_bytes, "{what}");
            }
        }
    }

    #[test]
    fn without_a_round_trip_nothing_waits() {
        let mut pacer = Pacer::new(12_000, 0.0);
        for _ in 0..1_000 {
            assert_eq!(pacer.waits_until(MTU_BYTES, 24_000, 0.0, 1.0), None);
            pacer.on_sent(MTU_BYTES);
        }
    }
}
