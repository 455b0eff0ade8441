//! The faults of one direction, and the rules that decide over each datagram: let it pass, deliver
//! it later, or drop it.
//!
//! The order is that of a link: the datagram waits for its turn and is serialised (`rate`,
//! `queue`), may then be lost (it has used its share of the rate), travels (`delay`, `jitter`), may
//! be overtaken (`reorder`) or arrive twice (`duplicate`). What deliberately does not live here:
//! when something is delivered, which is the [`queue`](super::queue)'s, and any socket or clock.
//!
//! Chance is drawn for every datagram of a flow and every rule, also for what is dropped: so a fault
//! that changes never changes what chance says of another one.

use std::time::Duration;

pub use pocketsim_protocols::bursts::Bursts;
use pocketsim_protocols::bursts::{Chain, Crossing};
use pocketsim_protocols::named_enum;
use serde::Serialize;

use super::queue::Serialiser;
use super::stream::Stream;

/// What one direction of a link does to datagrams; the default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Faults {
    /// Added to every datagram, in seconds.
    pub delay_s: f64,
    /// The most that is added on top, in seconds; uniform in [0, `jitter_s`) if it may change the
    /// order, or where the datagrams of a flow are further apart than that.
    pub jitter_s: f64,
    /// Whether jitter may change the order; otherwise a datagram waits for those before it in its
    /// flow, so closer ones are delayed by more than a uniform share.
    pub jitter_reorders: bool,
    /// Probability that an IP packet is lost outside bursts; a datagram is lost with any of its own.
    pub loss_ratio: f64,
    /// How other losses cluster.
    pub bursts: Option<Bursts>,
    /// Probability that a datagram is overtaken by the next one of its flow that is not itself
    /// held back; one that nobody follows within [`HELD_MAX`] goes on alone.
    pub reorder_ratio: f64,
    /// Probability that a datagram is delivered twice.
    pub duplicate_ratio: f64,
    /// Bytes per second with IP and UDP headers; none is unlimited.
    pub rate_bytes_per_s: Option<f64>,
    /// Bytes that may wait for the rate, headers included; the datagram that is being sent does
    /// not count.
    pub queue_bytes: u64,
}

impl Faults {
    /// Why these faults cannot be, if so; `direction` is named in the reason.
    ///
    /// # Errors
    /// The first number that is out of its range, for people.
    pub fn check(&self, direction: &str) -> Result<(), String> {
        let rate = self.rate_bytes_per_s.unwrap_or(RATE_BYTES_PER_S_MIN);
        let ranges = [
            ("delay_s", self.delay_s, 0.0, DELAY_S_MAX),
            ("jitter_s", self.jitter_s, 0.0, DELAY_S_MAX),
            ("loss_ratio", self.loss_ratio, 0.0, 1.0),
            ("reorder_ratio", self.reorder_ratio, 0.0, 1.0),
            ("duplicate_ratio", self.duplicate_ratio, 0.0, 1.0),
            ("rate_bytes_per_s", rate, RATE_BYTES_PER_S_MIN, f64::MAX),
        ];
        let wrong = |(_, value, least, most): &(_, f64, f64, f64)| !(least..=most).contains(&value);
        let bursts = self.bursts.map_or(Ok(()), |bursts| bursts.check());
        match ranges.into_iter().find(wrong) {
            None => bursts.map_err(|reason| format!("{direction}: bursts: {reason}")),
            Some((name, value, least, f64::MAX)) => {
                Err(format!("{direction}: {name} {value} is less than {least}"))
            }
            Some((name, value, least, most)) => Err(format!(
                "{direction}: {name} {value} is not between {least} and {most}"
            )),
        }
    }
}

named_enum! {
    /// Why the relay did not deliver a datagram.
    Reason {
        /// Lost as `loss_ratio` or `bursts` says, which no receiver could tell apart.
        Loss = "loss",
        /// The queue before the rate had no room.
        QueueFull = "queue_full",
        /// More was under way than the relay keeps in memory.
        RelayFull = "relay_full",
        /// No room for another flow, or no socket for it.
        TooManyFlows = "too_many_flows",
        /// From somebody who is neither the client nor the server of the flow.
        UnknownSender = "unknown_sender",
        /// Its flow was closed while it was under way.
        FlowClosed = "flow_closed",
        /// The system refused to send it.
        Unsendable = "unsendable",
    }
}

/// What the rules say about one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Deliver it at once.
    Pass,
    /// Deliver it after this time.
    Later(Duration),
    /// Do not deliver it.
    Drop(Reason),
}

/// What chance says of one datagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Whether it is lost.
    pub lost: bool,
    /// Its share of the jitter, in [0, 1).
    pub jitter: f64,
    /// Whether it is to be overtaken.
    pub held: bool,
    /// Whether it arrives twice.
    pub twice: bool,
}

/// The rules of one direction, each with its own stream of chance.
#[derive(Clone, Debug)]
pub struct Rules {
    faults: Faults,
    serialiser: Option<Serialiser>,
    chain: Option<Chain>,
    bursts: Stream,
    loss: Stream,
    jitter: Stream,
    reorder: Stream,
    duplicate: Stream,
}

impl Rules {
    /// The rules for `faults`; `direction` names their streams under `seed`.
    pub fn new(faults: &Faults, seed: u64, direction: &str) -> Self {
        let stream = |rule: &str| Stream::named(seed, &format!("{direction}.{rule}"));
        let serialiser = |rate| Serialiser::new(rate, faults.queue_bytes);
        Self {
            serialiser: faults.rate_bytes_per_s.map(serialiser),
            chain: faults.bursts.map(Chain::new),
            bursts: stream("bursts"),
            loss: stream("loss"),
            jitter: stream("jitter"),
            reorder: stream("reorder"),
            duplicate: stream("duplicate"),
            faults: faults.clone(),
        }
    }

    /// What chance says of the next datagram, of so many IP packets: as many draws of each stream,
    /// whatever becomes of it.
    pub fn draw(&mut self, packets: u32) -> Draw {
        Draw {
            lost: self.loses(packets),
            jitter: self.jitter.uniform(),
            held: self.reorder.happens(self.faults.reorder_ratio),
            twice: self.duplicate.happens(self.faults.duplicate_ratio),
        }
    }

    /// What becomes of a datagram of `wire_bytes` that arrives at `now`, order aside.
    pub fn judge(&mut self, draw: &Draw, wire_bytes: u64, now: Duration) -> Verdict {
        let waited = match self
            .serialiser
            .as_mut()
            .map(|line| line.admit(wire_bytes, now))
        {
            None => Duration::ZERO,
            Some(Verdict::Later(wait)) => wait,
            Some(verdict) => return verdict,
        };
        if draw.lost {
            return Verdict::Drop(Reason::Loss);
        }
        match waited + self.travel(draw) {
            Duration::ZERO => Verdict::Pass,
            after => Verdict::Later(after),
        }
    }

    /// Whether a datagram has to wait for those before it in its flow.
    pub fn keeps_order(&self) -> bool {
        !self.faults.jitter_reorders
    }

    /// Bursts are the link's, whose every flow they meet, like its rate.
    fn loses(&mut self, packets: u32) -> bool {
        let crossing = match &mut self.chain {
            Some(chain) => chain.carry(packets, || self.bursts.uniform()),
            None => Crossing::outside(packets),
        };
        let arrives = (1.0 - self.faults.loss_ratio).powi(crossing.outside_packets as i32);
        self.loss.happens(1.0 - arrives) || crossing.lost
    }

    fn travel(&self, draw: &Draw) -> Duration {
        Duration::from_secs_f64(self.faults.delay_s + draw.jitter * self.faults.jitter_s)
    }
}

/// How long a datagram that should be overtaken waits for another one: longer than the pause
/// between datagrams at 10/s, shorter than any protocol's retransmission of one second.
pub const HELD_MAX: Duration = Duration::from_millis(200);
/// Ten times the longest round trip that satellites and congested cells show.
const DELAY_S_MAX: f64 = 10.0;
/// 1 kbit/s: below, a single full datagram would take longer than any flow lives.
const RATE_BYTES_PER_S_MIN: f64 = 125.0;
