//! Bursts of loss between phones and their access points: a chain for each phone and direction.
//!
//! What deliberately does not live here: what a burst is (`pocketsim_protocols::bursts`), and what
//! networks lose outside bursts.

use pocketsim_protocols::bursts::{self, Chain, Crossing};

use crate::base::rng::Stream;
use crate::network::resequencer::Way;
use crate::plan::Bursts;

/// The chains of one run, by phone; where a network has no bursts there is none.
pub(crate) struct Chains {
    up: Vec<Option<Box<LossChain>>>,
    down: Vec<Option<Box<LossChain>>>,
}

/// One direction between a phone and its access point.
struct LossChain {
    chain: Chain,
    stream: Stream,
}

impl Chains {
    /// Links that have carried nothing yet; `bursts` are those of each phone's network, none
    /// without any.
    pub(crate) fn new(seed: u64, bursts: &[Option<Bursts>]) -> Self {
        let chains = |name: &str| {
            let link = |(phone, given): (u32, &Option<Bursts>)| {
                given.map(|given| Box::new(LossChain::new(given, Stream::new(seed, name, phone))))
            };
            (0..).zip(bursts).map(link).collect()
        };
        Self {
            up: chains("bursts/up"),
            down: chains("bursts/down"),
        }
    }

    /// Carries the packets of a datagram over both its hops, the sender's first.
    ///
    /// Both chains go on whatever becomes of it: a network's losses must not move another's bursts.
    pub(crate) fn cross(&mut self, way: Way, packets: u32) -> [Crossing; 2] {
        if self.up.is_empty() {
            return [Crossing::outside(packets); 2];
        }
        let [from, to] = [way.from, way.to].map(|phone| phone.0 as usize);
        [&mut self.up[from], &mut self.down[to]].map(|link| match link {
            Some(link) => link.chain.carry(packets, || link.stream.uniform()),
            None => Crossing::outside(packets),
        })
    }
}

impl LossChain {
    fn new(given: Bursts, stream: Stream) -> Self {
        let bursts = bursts::Bursts {
            share: given.share,
            mean_packets: given.mean_packets,
            loss_ratio: given.loss_ratio,
        };
        Self {
            chain: Chain::new(bursts),
            stream,
        }
    }
}
