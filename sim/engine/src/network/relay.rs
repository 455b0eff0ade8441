//! A relay with limits: how long it keeps what clients send each other, and what it has no room for.
//!
//! A datagram passes three queues, each first in, first out: that of its sender's token bucket (an
//! average rate and a burst, RFC 2697), that of what the relay receives at most, and that of what it
//! sends at most. In each the relay counts the datagrams of a client, of the first two the sender's, of
//! the last the receiver's, and drops what finds as many as it may have (iroh-relay 0.35: 512). What is
//! not limited takes no time. What deliberately does not live here: the ways to the relay and from it.

use std::collections::{BTreeMap, VecDeque};

use pocketsim_protocols::contract::Seconds;

use crate::events::sim_context::Stage;
use crate::network::resequencer::Way;
use crate::plan;
use crate::record::paths::RelaySummary;

/// The relay of a run.
pub(crate) struct Relay {
    limits: plan::Relay,
    /// By client, when its bucket was or will be empty.
    buckets: BTreeMap<u32, Seconds>,
    /// By stage.
    queues: [Queues; 3],
    /// Datagrams that left it.
    passed: u64,
    /// Datagrams that found no room.
    refused: u64,
    /// How long datagrams were in it, all together.
    held_s: Seconds,
}

/// What waits at a stage.
#[derive(Default)]
struct Queues {
    /// When all of it is out.
    free_s: Seconds,
    /// By client, when each of its datagrams is out.
    outs_s: BTreeMap<u32, VecDeque<Seconds>>,
}

impl Relay {
    /// Of a plan; none where relays are a delay alone.
    pub(crate) fn new(limits: Option<&plan::Relay>) -> Option<Box<Self>> {
        let limits = limits?.clone();
        Some(Box::new(Self {
            limits,
            buckets: BTreeMap::new(),
            queues: Default::default(),
            passed: 0,
            refused: 0,
            held_s: 0.0,
        }))
    }

    /// When a datagram of so many bytes that comes to a stage at `now`, which must not go back, is past
    /// it; none without room.
    pub(crate) fn pass(
        &mut self,
        stage: Stage,
        way: Way,
        now: Seconds,
        bytes: u32,
    ) -> Option<Seconds> {
        let (client, bytes) = match stage {
            Stage::Bucket | Stage::Up => (way.from.0, f64::from(bytes)),
            Stage::Down => (way.to.0, f64::from(bytes)),
        };
        let limit = match stage {
            Stage::Bucket => self.limits.client_rate_bytes_per_s,
            Stage::Up => self.limits.up_bytes_per_s,
            Stage::Down => self.limits.down_bytes_per_s,
        };
        let out_s = match limit {
            None => now,
            Some(rate) => {
                if !self.has_room(stage, client, now) {
                    self.refused += 1;
                    return None;
                }
                let out_s = match stage {
                    Stage::Bucket => self.conforms_s(client, rate, now, bytes),
                    _ => self.queues[stage as usize].free_s.max(now) + bytes / rate,
                };
                self.queues[stage as usize].push(client, out_s);
                out_s
            }
        };
        self.held_s += out_s - now;
        self.passed += u64::from(stage.next().is_none());
        Some(out_s)
    }

    /// What it did.
    pub(crate) fn summary(&self) -> RelaySummary {
        RelaySummary {
            passed: self.passed,
            refused: self.refused,
            held_s: self.held_s,
        }
    }

    fn has_room(&mut self, stage: Stage, client: u32, now: Seconds) -> bool {
        let waiting = self.queues[stage as usize].waiting(client, now);
        waiting < self.limits.queue_packets as usize
    }

    /// When a client's bucket has tokens for so many bytes, which it loses then.
    fn conforms_s(&mut self, client: u32, rate: f64, now: Seconds, bytes: f64) -> Seconds {
        let burst_s = f64::from(self.limits.client_burst_bytes) / rate;
        let empty_s = self.buckets.entry(client).or_insert(Seconds::NEG_INFINITY);
        *empty_s = empty_s.max(now - burst_s) + bytes / rate;
        empty_s.max(now)
    }
}

impl Queues {
    fn push(&mut self, client: u32, out_s: Seconds) {
        self.free_s = out_s;
        self.outs_s.entry(client).or_default().push_back(out_s);
    }

    /// How many datagrams of a client are not out at `now`.
    fn waiting(&mut self, client: u32, now: Seconds) -> usize {
        let Some(outs_s) = self.outs_s.get_mut(&client) else {
            return 0;
        };
        while outs_s.front().is_some_and(|&out_s| out_s <= now) {
            outs_s.pop_front();
        }
        outs_s.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pocketsim_protocols::contract::{NodeId, Path};

    const BYTES: u32 = 1000;

    fn relay(change: impl FnOnce(&mut plan::Relay)) -> Box<Relay> {
        let mut limits = plan::Relay {
            up_bytes_per_s: None,
            down_bytes_per_s: None,
            queue_packets: 512,
            client_rate_bytes_per_s: None,
            client_burst_bytes: 0,
        };
        change(&mut limits);
        Relay::new(Some(&limits)).expect("it has limits")
    }

    fn way(from: u32, to: u32) -> Way {
        Way {
            from: NodeId(from),
            to: NodeId(to),
            path: Path::Relay,
        }
    }

    #[test]
    fn without_limits_it_takes_no_time() {
        let mut relay = relay(|_| {});
        for stage in [Stage::Bucket, Stage::Up, Stage::Down] {
            assert_eq!(relay.pass(stage, way(0, 1), 5.0, BYTES), Some(5.0));
        }
        assert_eq!((relay.passed, relay.refused, relay.held_s), (1, 0, 0.0));
    }

    #[test]
    fn all_clients_share_what_it_sends() {
        let mut relay = relay(|limits| limits.down_bytes_per_s = Some(1e3));
        let outs_s = [1, 2, 3].map(|to| relay.pass(Stage::Down, way(0, to), 5.0, BYTES));
        assert_eq!(outs_s, [Some(6.0), Some(7.0), Some(8.0)]);
        assert_eq!(relay.held_s, 6.0);
    }

    #[test]
    fn each_client_has_so_much_room() {
        let mut relay = relay(|limits| {
            limits.down_bytes_per_s = Some(1e3);
            limits.queue_packets = 2;
        });
        let mut pass = |to, now| relay.pass(Stage::Down, way(0, to), now, BYTES);
        assert_eq!(
            [pass(1, 0.0), pass(1, 0.0), pass(1, 0.0)],
            [Some(1.0), Some(2.0), None]
        );
        assert_eq!(pass(2, 0.0), Some(3.0), "another has its own");
        assert_eq!(pass(1, 1.0), Some(4.0), "the first of it is out");
        assert_eq!(relay.refused, 1);
    }

    #[test]
    fn a_bucket_lets_a_burst_pass_and_then_its_rate() {
        let mut relay = relay(|limits| {
            limits.client_rate_bytes_per_s = Some(1e3);
            limits.client_burst_bytes = 3000;
        });
        let mut pass = |from, now| relay.pass(Stage::Bucket, way(from, 9), now, BYTES);
        let outs_s = [(); 5].map(|()| pass(0, 10.0));
        assert_eq!(outs_s, [10.0, 10.0, 10.0, 11.0, 12.0].map(Some));
        assert_eq!(pass(1, 10.0), Some(10.0), "each has its own");
        assert_eq!(pass(0, 13.5), Some(13.5), "it has 1500 bytes again");
        assert_eq!(pass(0, 13.5), Some(14.0));
        assert_eq!(pass(0, 99.0), Some(99.0), "it never has more than it holds");
    }

    #[test]
    fn under_overload_it_passes_what_it_can() {
        let mut relay = relay(|limits| limits.down_bytes_per_s = Some(1e6));
        let sent = 60_000; // at 1.5 times what it can, for 40 s
        let dates = (0..sent).map(|number| f64::from(number) / 1500.0);
        let passed = dates.filter(|&now| relay.pass(Stage::Down, way(0, 1), now, BYTES).is_some());
        let share = passed.count() as f64 / f64::from(sent);
        // Two thirds, and what the queue still holds at the end.
        let expected = (2.0 / 3.0) + 512.0 / f64::from(sent);
        assert!((share - expected).abs() < 1e-3, "{share}");
    }
}
