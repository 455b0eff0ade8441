//! Bursts of loss between phones and their access points: a chain for each phone and direction.
//!
//! It may change between any two packets, or at any time. In time, with share s and mean duration D
//! of a burst, a chain is after t where it was with probability
//!
//! | | |
//! |---|---|
//! | in a burst | s + (1 - s) exp(-t / ((1 - s) D)) |
//! | outside | 1 - s + s exp(-t / ((1 - s) D)) |
//!
//! which are those of a chain by packets whose bursts have a mean of
//! 1 / ((1 - s) (1 - exp(-t / ((1 - s) D)))) packets: so one takes the step of the other.
//!
//! What deliberately does not live here: what a burst is (`pocketsim_protocols::bursts`), and what
//! networks lose outside bursts.

use pocketsim_protocols::bursts::{self, Chain, Crossing};
use pocketsim_protocols::contract::Seconds;

use crate::base::rng::Stream;
use crate::network::resequencer::Way;
use crate::plan::Bursts;
use crate::resources::attachments::{Attached, Attachments};

/// The chains of one run, by attachment; where a network has no bursts there is none.
pub(crate) struct Chains {
    up: Vec<Option<Box<LossChain>>>,
    down: Vec<Option<Box<LossChain>>>,
    attached: Attached,
}

/// One direction between a phone and its access point.
struct LossChain {
    chain: Chain,
    stream: Stream,
    /// None where bursts are so many packets long.
    clock: Option<Clock>,
}

/// How bursts last for a time.
struct Clock {
    share: f64,
    mean_duration_s: Seconds,
    /// When the last packet came.
    last_s: Seconds,
}

impl Chains {
    /// Links that have carried nothing yet; `bursts` are those of each attachment's network, none
    /// without any.
    pub(crate) fn new(
        seed: u64,
        bursts: &[Option<Bursts>],
        (attachments, attached): (&Attachments, Attached),
    ) -> Self {
        let chains = |name: &str| {
            let link = |(number, given): (u32, &Option<Bursts>)| {
                let (seed, phone) = attachments.streams(seed, number);
                given.map(|given| Box::new(LossChain::new(given, Stream::new(seed, name, phone))))
            };
            (0..).zip(bursts).map(link).collect()
        };
        Self {
            up: chains("bursts/up"),
            down: chains("bursts/down"),
            attached,
        }
    }

    /// A phone has another attachment from now on.
    pub(crate) fn join(&mut self, phone: u32, attachment: u32) {
        self.attached.join(phone, attachment);
    }

    /// Carries the packets of a datagram that is sent at `now` over both its hops, the sender's first.
    ///
    /// Both chains go on whatever becomes of it: a network's losses must not move another's bursts.
    pub(crate) fn cross(&mut self, way: Way, now: Seconds, packets: u32) -> [Crossing; 2] {
        if self.up.is_empty() {
            return [Crossing::outside(packets); 2];
        }
        let [from, to] = [way.from, way.to].map(|phone| self.attached.of(phone.0) as usize);
        [&mut self.up[from], &mut self.down[to]].map(|link| match link {
            Some(link) => link.carry(now, packets),
            None => Crossing::outside(packets),
        })
    }
}

impl LossChain {
    fn new(given: Bursts, stream: Stream) -> Self {
        let bursts = bursts::Bursts {
            share: given.share,
            mean_packets: given.mean_packets.unwrap_or(f64::INFINITY),
            loss_ratio: given.loss_ratio,
        };
        let clock = given.mean_duration_s.map(|mean_duration_s| Clock {
            share: given.share,
            mean_duration_s,
            last_s: 0.0,
        });
        Self {
            chain: Chain::new(bursts),
            stream,
            clock,
        }
    }

    fn carry(&mut self, now: Seconds, packets: u32) -> Crossing {
        let stream = &mut self.stream;
        let Some(clock) = &mut self.clock else {
            return self.chain.carry(packets, || stream.uniform());
        };
        self.chain.set_mean_packets(clock.mean_packets(now));
        let first = self.chain.carry(1, || stream.uniform());
        // Those behind it come at the same time.
        self.chain.set_mean_packets(f64::INFINITY);
        let others = self.chain.carry(packets - 1, || stream.uniform());
        Crossing {
            outside_packets: first.outside_packets + others.outside_packets,
            lost: first.lost || others.lost,
        }
    }
}

impl Clock {
    /// How many packets bursts would have if all came as long after each other as one at `now` comes
    /// after the last.
    fn mean_packets(&mut self, now: Seconds) -> f64 {
        let outside = 1.0 - self.share;
        let passed = (now - self.last_s) / (outside * self.mean_duration_s);
        self.last_s = now;
        1.0 / (outside * -(-passed).exp_m1())
    }
}
