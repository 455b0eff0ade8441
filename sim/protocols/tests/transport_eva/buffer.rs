//! The shape of figures 7 and 8 of the offline token thesis, from costs and a buffer alone.
//!
//! Two phones on one loopback. Nothing here knows of a window or a collapse: the
//! costs are those of libsodium on the thesis's laptop, the buffer counts as the
//! kernel counts, and what overflows, stalls or does not is the machine's doing.

use std::cell::Cell;

use super::phones::{received_s, EvaWorld};
use crate::common::{parcel, socket::truesize_bytes, World};
use pocketsim_protocols::contract::{Operation, Seconds};
use pocketsim_protocols::transport::eva::{Eva, EvaConfig};

const MESSAGE_BYTES: u32 = 10_000_000;

/// Seconds on the laptop, as in its profile: Ed25519 as printed (figure 3), `sendto`,
/// `recvfrom`, the overlay and a sealed box as fitted to figure 6. What a byte costs is
/// left out.
fn cost_s(operation: Operation) -> Seconds {
    match operation {
        Operation::Sign => 26.2e-6,
        Operation::Verify => 57.1e-6,
        Operation::SealedBoxOpen => 41e-6,
        Operation::SealedBoxSeal => 59e-6,
        Operation::OverlaySend => 10.4e-6,
        Operation::OverlayReceive => 36.4e-6,
        Operation::UdpSend | Operation::UdpReceive => 2.6e-6,
        _ => 0.0,
    }
}

/// One message over a loopback; no two operations take quite as long.
fn transfer(config: &EvaConfig, buffer_bytes: u64, seed: u64) -> EvaWorld {
    let state = Cell::new(seed | 1);
    let mut world = World::new(2, 20e-6, |_| Eva::new(config));
    world.limit_buffers(buffer_bytes);
    world.work = Box::new(move |operation, _| {
        let mut next = state.get();
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        state.set(next);
        cost_s(operation) * (0.8 + (next >> 40) as f64 / (1u64 << 24) as f64 * 0.4)
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, MESSAGE_BYTES));
    world.run_until(300.0);
    world
}

fn grid(block_bytes: u32, window_blocks: u32, encryption: bool) -> EvaConfig {
    EvaConfig {
        block_bytes,
        window_blocks,
        encryption,
        ..EvaConfig::thesis()
    }
}

struct Outcome {
    goodput_bytes_per_s: f64,
    lost: usize,
    stalls: u64,
}

fn outcome(config: &EvaConfig, buffer_bytes: u64) -> Outcome {
    let world = transfer(config, buffer_bytes, 7);
    let received_s = received_s(&world, 1).expect("it arrives");
    Outcome {
        goodput_bytes_per_s: f64::from(MESSAGE_BYTES) / received_s,
        lost: world.overflows.len(),
        stalls: world.machine(1).counts().acknowledgements_repeated,
    }
}

#[test]
fn figure_7_without_encryption_only_the_largest_window_overflows() {
    let mut before = 0.0;
    for window_blocks in [16, 32, 64, 128] {
        let outcome = outcome(&grid(1200, window_blocks, false), DEFAULT_BUFFER_BYTES);
        assert_eq!((outcome.lost, outcome.stalls), (0, 0), "{window_blocks}");
        assert!(outcome.goodput_bytes_per_s > before, "{window_blocks}");
        before = outcome.goodput_bytes_per_s;
    }
    let collapsed = outcome(&grid(1200, 256, false), DEFAULT_BUFFER_BYTES);
    let loss_ratio = collapsed.lost as f64 / f64::from(MESSAGE_BYTES / 1200);
    assert!(loss_ratio > 0.1, "{loss_ratio}");
    assert!(collapsed.stalls > 5, "{}", collapsed.stalls);
    assert!(collapsed.goodput_bytes_per_s < before / 5.0);
}

#[test]
fn figure_7_with_encryption_what_the_sender_is_ahead_fits() {
    for window_blocks in [16, 128, 256] {
        let outcome = outcome(&grid(1200, window_blocks, true), DEFAULT_BUFFER_BYTES);
        assert_eq!((outcome.lost, outcome.stalls), (0, 0), "{window_blocks}");
    }
}

#[test]
fn figure_7_larger_blocks_are_faster() {
    let goodput = |block_bytes, encryption| {
        let config = grid(block_bytes, 64, encryption);
        outcome(&config, DEFAULT_BUFFER_BYTES).goodput_bytes_per_s
    };
    for encryption in [false, true] {
        let rates = [200, 600, 1000, 1200].map(|bytes| goodput(bytes, encryption));
        assert!(rates.windows(2).all(|two| two[0] < two[1]), "{rates:?}");
        assert!(goodput(1200, true) < goodput(1200, false));
    }
}

#[test]
fn figure_8_a_larger_buffer_cures_it() {
    let config = EvaConfig::thesis();
    let outcomes = [1, 2, 3, 4].map(|times| outcome(&config, times * DEFAULT_BUFFER_BYTES));
    let lost = outcomes.each_ref().map(|outcome| outcome.lost);
    assert!(
        lost[0] > 0 && lost.windows(2).all(|two| two[0] >= two[1]),
        "{lost:?}"
    );
    assert_eq!(lost[3], 0);
    assert_eq!(Some(4 * DEFAULT_BUFFER_BYTES), config.kernel_buffer_bytes());
    let cured = outcomes[3].goodput_bytes_per_s;
    assert!(cured > 5.0 * outcomes[0].goodput_bytes_per_s);
    // Once nothing is lost, more buffer changes nothing.
    assert_eq!(
        cured,
        outcome(&config, 8 * DEFAULT_BUFFER_BYTES).goodput_bytes_per_s
    );
}

#[test]
fn a_burst_fits_if_the_receiver_keeps_up_with_enough_of_it() {
    // What a burst leaves behind is window * (1 - sender's time / receiver's time).
    let (sender_s, receiver_s) = (36.6e-6, 96.1e-6);
    let capacity = DEFAULT_BUFFER_BYTES / truesize_bytes(183 + 1200);
    let largest = capacity as f64 / (1.0 - sender_s / receiver_s);
    for (factor, overflows) in [(0.9, false), (1.1, true)] {
        let config = grid(1200, (largest * factor) as u32, false);
        assert_eq!(
            outcome(&config, DEFAULT_BUFFER_BYTES).lost > 0,
            overflows,
            "{factor}"
        );
    }
}

/// What Linux gives a socket that asks for nothing, as the kernel counts; Java says half.
const DEFAULT_BUFFER_BYTES: u64 = 212_992;
