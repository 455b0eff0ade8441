//! What the tests of EVA share: small transfers, and packets told apart by their size.

use pocketsim_protocols::contract::{NodeId, Seconds};
use pocketsim_protocols::transport::eva::{Eva, EvaConfig};

use crate::common::{Parcel, Rule, Verdict, World};

pub type EvaWorld = World<Eva<Parcel>>;

/// The thesis's options with small blocks and windows.
pub fn small() -> EvaConfig {
    EvaConfig {
        block_bytes: 100,
        window_blocks: 4,
        min_window_blocks: 2,
        ..EvaConfig::thesis()
    }
}

/// Phones 10 ms apart.
pub fn world(count: u32, config: &EvaConfig) -> EvaWorld {
    World::new(count, 0.010, |_| Eva::new(config))
}

/// Sizes of what `from` sent, in order.
pub fn sizes(world: &EvaWorld, from: u32) -> Vec<u32> {
    let mine = world.sent.iter().filter(|sent| sent.from == NodeId(from));
    mine.map(|sent| sent.bytes).collect()
}

/// When `from` sent datagrams of `bytes`.
pub fn times(world: &EvaWorld, from: u32, bytes: u32) -> Vec<Seconds> {
    let sent = world.sent.iter();
    let mine = sent.filter(|sent| sent.from == NodeId(from) && sent.bytes == bytes);
    mine.map(|sent| sent.time_s).collect()
}

/// When `node` had received a whole message, if once.
pub fn received_s(world: &EvaWorld, node: u32) -> Option<Seconds> {
    match world.received(node).as_slice() {
        [] => None,
        [(at, _)] => Some(*at),
        more => panic!("received {more:?}"),
    }
}

/// Drops the datagrams with these numbers.
pub fn drop_all(lost: Vec<usize>) -> Rule {
    Box::new(move |k, _| match lost.contains(&k) {
        true => Verdict::Drop,
        false => Verdict::Pass,
    })
}

/// A write request, an acknowledgement that lists nothing, a block of 100 bytes.
pub const OFFER: u32 = 207 + 40 + 16;
pub const ACK: u32 = 183;
pub const BLOCK: u32 = 183 + 100;
