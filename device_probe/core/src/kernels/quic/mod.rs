//! Kernels of the group `quic`: quinn with its defaults.
//!
//! `steps` has what the simulator charges, computation without sockets; `sockets` has what an
//! application sees over loopback, both ends in this process, `pace` messages whose ends sleep in
//! between.

use crate::kernel::{Case, Depth, Group};

mod at_once;
mod credentials;
mod listening;
mod memory;
mod pace;
mod reconnect;
mod sockets;
mod steps;
mod talk;

/// The cases of this group.
pub fn cases(depth: Depth) -> Vec<Case> {
    [
        sockets::cases(depth),
        pace::cases(),
        at_once::cases(),
        reconnect::cases(),
        steps::cases(depth),
    ]
    .concat()
}

const GROUP: Group = Group::Quic;
