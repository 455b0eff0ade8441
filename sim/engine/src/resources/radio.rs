//! A radio in one direction: what it is given goes out one after the other, as long as there is
//! room.
//!
//! On a link that nobody else uses this is arithmetic: a datagram starts when the one before it is
//! out and takes its bytes over the rate (Kleinrock, Queueing Systems I, 1975, on FIFO queues). The
//! queue holds what is not sent yet, byte by byte: of a datagram that is on the air, what is left.
//! What finds the radio idle is always taken, however large, as CoDel never drops what is alone in
//! a queue (RFC 8289, "Non-starvation"). What deliberately does not live here: radios on an access
//! point or cell with a limit of its own (`shared_medium.rs`).

use pocketsim_protocols::contract::Seconds;

/// A direction: from the phone, or to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Direction {
    /// From the phone.
    Up,
    /// To the phone.
    Down,
}

/// A radio's rate and the room of its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Bytes per second.
    pub rate_bytes_per_s: f64,
    /// What may wait to be sent, in bytes.
    pub queue_bytes: f64,
}

impl Line {
    /// A line of this rate; without a queue of its own it holds what goes out in [`QUEUE_S`].
    pub fn new(rate_bytes_per_s: f64, queue_bytes: Option<f64>) -> Self {
        Self {
            rate_bytes_per_s,
            queue_bytes: queue_bytes.unwrap_or(rate_bytes_per_s * QUEUE_S),
        }
    }
}

/// What becomes of a datagram that a radio takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// How long it waits before its first byte goes out, seconds.
    pub wait_s: Seconds,
    /// When its last byte is out.
    pub out_s: Seconds,
}

/// Whether and when what it has been given is out.
#[derive(Clone, Copy, Debug)]
pub struct Radio {
    free_s: Seconds,
}

impl Radio {
    /// A radio with nothing to send.
    pub const IDLE: Radio = Radio { free_s: 0.0 };

    /// Takes a datagram at `now`, which must not go back; none without room.
    pub fn pass(&mut self, line: Line, now: Seconds, wire_bytes: u32) -> Option<Turn> {
        let (bytes, backlog_s) = (f64::from(wire_bytes), self.free_s - now);
        if !self.has_room(line, now, wire_bytes) {
            return None;
        }
        self.free_s = self.free_s.max(now) + bytes / line.rate_bytes_per_s;
        Some(Turn {
            wait_s: backlog_s.max(0.0),
            out_s: self.free_s,
        })
    }

    /// Whether it would take so many bytes at `now`.
    #[inline]
    pub fn has_room(&self, line: Line, now: Seconds, wire_bytes: u32) -> bool {
        let unsent_bytes = (self.free_s - now) * line.rate_bytes_per_s;
        has_room(line, unsent_bytes, f64::from(wire_bytes))
    }

    /// When all that it has been given is out.
    pub fn out_s(&self) -> Seconds {
        self.free_s
    }

    /// What it has been given is out then.
    pub fn busy_until(&mut self, out_s: Seconds) {
        self.free_s = out_s;
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

/// How long what a queue holds takes to go out unless a scenario says otherwise, seconds: the buffer
/// that routers have by rule of thumb (Appenzeller et al., SIGCOMM 2004).
pub const QUEUE_S: Seconds = 0.25;
// What is left of a datagram on the air is a difference of two dates.
const ROUNDING: f64 = 1e-9;
