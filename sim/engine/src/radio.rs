//! A radio in one direction: what it is given goes out one after the other, as long as there is room.
//!
//! On a link that nobody else uses this is arithmetic: a datagram starts when the one before it is
//! out and takes its bytes over the rate (Kleinrock, Queueing Systems I, 1975, on FIFO queues). The
//! queue holds what is not sent yet, byte by byte: of a datagram that is on the air, what is left.
//! What finds the radio idle is always taken, however large. What deliberately does not live here:
//! radios on an access point or cell with a limit of its own (`air.rs`).

use pocketsim_protocols::contract::Seconds;

/// A radio's rate and the room of its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Bytes per second.
    pub rate_bytes_per_s: f64,
    /// What may wait to be sent, in bytes.
    pub queue_bytes: f64,
}

/// Whether and when what it has been given is out.
#[derive(Clone, Copy, Debug)]
pub struct Radio {
    free_s: Seconds,
}

impl Radio {
    /// A radio with nothing to send.
    pub const IDLE: Radio = Radio { free_s: 0.0 };

    /// Takes a datagram at `now`, which must not go back: when it is out, or none without room.
    pub fn pass(&mut self, line: Line, now: Seconds, wire_bytes: u32) -> Option<Seconds> {
        let (bytes, backlog_s) = (f64::from(wire_bytes), self.free_s - now);
        if !has_room(line, backlog_s * line.rate_bytes_per_s, bytes) {
            return None;
        }
        self.free_s = self.free_s.max(now) + bytes / line.rate_bytes_per_s;
        Some(self.free_s)
    }

    /// What it has not sent at `now` is never sent.
    pub fn clear(&mut self, now: Seconds) {
        self.free_s = self.free_s.min(now);
    }
}

/// Whether a queue with `unsent_bytes` in it takes `bytes` more.
pub fn has_room(line: Line, unsent_bytes: f64, bytes: f64) -> bool {
    unsent_bytes <= 0.0 || unsent_bytes + bytes <= line.queue_bytes * (1.0 + ROUNDING)
}

// What is left of a datagram on the air is a difference of two dates.
const ROUNDING: f64 = 1e-9;
