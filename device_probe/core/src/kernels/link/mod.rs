//! Kernels of the group `link`: the way to a peer that serves.
//!
//! | kernel | what it is |
//! |---|---|
//! | `link_udp_rtt` | one echo at a time, 10 ms apart |
//! | `link_udp_rtt_loaded` | the same while datagrams of 1200 bytes go out at a steady rate |
//! | `link_udp_goodput` | what arrives, by the peer's clock, at the highest rate that loses at most 1 % more than the lowest and does not queue up |
//! | `link_udp_loss` | of a train of 100 datagrams per second, those that did not arrive |
//! | `link_udp_reordering` | of those that arrived of 500 per second, those that came after a later one or twice |
//! | `link_udp_send`, `link_udp_receive` | one call each, on a few datagrams in a row |
//! | `link_quic_rtt` | one echo at a time on a stream that is kept |
//! | `link_quic_goodput` | one stream for a while, until the peer has it all |
//!
//! Trains have 200 datagrams or more, and `sent_datagrams` says how many, as a ratio of few tells
//! little. A search for the goodput that does not come to its end is left out.
//!
//! UDP payload counts, headers do not. A peer that does not answer makes a case unmeasured after a
//! wait that is bounded.

use std::net::SocketAddr;

use crate::kernel::{Budget, Case, Depth, Group, Series, Unmeasured};
use crate::kernels::experiment::case;
use crate::kernels::Surroundings;

mod calls;
mod datagrams;
mod goodput;
mod prober;
mod streams;

/// The cases of this group; none without a peer.
pub fn cases(surroundings: &Surroundings) -> Vec<Case> {
    let Some(peer) = surroundings.peer else {
        return Vec::new();
    };
    let sizes = match surroundings.depth {
        Depth::Quick => &BYTES_QUICK[..],
        Depth::Full => &BYTES[..],
    };
    [
        by_size("link_udp_rtt", peer, sizes, datagrams::rtt),
        loaded(peer, surroundings.depth),
        by_size("link_udp_send", peer, sizes, calls::send),
        by_size("link_udp_receive", peer, sizes, calls::receive),
        by_size("link_udp_loss", peer, sizes, datagrams::loss),
        by_size("link_udp_reordering", peer, sizes, datagrams::reordering),
        by_size("link_udp_goodput", peer, &[FULL_BYTES], goodput::goodput),
        by_size("link_quic_rtt", peer, sizes, streams::rtt),
        vec![case(GROUP, "link_quic_goodput", &[], move |budget| {
            streams::goodput(budget, peer)
        })],
    ]
    .concat()
}

type Measure = fn(&Budget<'_>, SocketAddr, usize) -> Result<Vec<Series>, Unmeasured>;

fn by_size(kernel: &'static str, peer: SocketAddr, sizes: &[usize], measure: Measure) -> Vec<Case> {
    let sized = |&bytes: &usize| {
        let parameters = [("bytes", bytes as f64)];
        case(GROUP, kernel, &parameters, move |budget| {
            measure(budget, peer, bytes)
        })
    };
    sizes.iter().map(sized).collect()
}

fn loaded(peer: SocketAddr, depth: Depth) -> Vec<Case> {
    let rates = match depth {
        Depth::Quick => &RATES_BYTES_PER_S[..1],
        Depth::Full => &RATES_BYTES_PER_S[..],
    };
    let at_rate = |&rate: &f64| {
        let parameters = [("bytes", BYTES_QUICK[0] as f64), ("rate_bytes_per_s", rate)];
        case(GROUP, "link_udp_rtt_loaded", &parameters, move |budget| {
            datagrams::rtt_loaded(budget, peer, BYTES_QUICK[0], rate)
        })
    };
    rates.iter().map(at_rate).collect()
}

const GROUP: Group = Group::Link;

/// A block of the theses; less, and the largest datagrams of QUIC and of Kotlin-IPv8.
const BYTES_QUICK: [usize; 1] = [668];
const BYTES: [usize; 4] = [64, 668, FULL_BYTES, 1472];

/// Fits every path's MTU (RFC 9000 14.1).
const FULL_BYTES: usize = 1200;

/// 1 and 10 Mbit/s: a fraction of any Wi-Fi, and a good part of a poor one.
const RATES_BYTES_PER_S: [f64; 2] = [125_000.0, 1_250_000.0];
