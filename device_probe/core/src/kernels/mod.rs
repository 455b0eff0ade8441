//! What a run measures: the catalogue of cases, by group.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::kernel::{Case, Depth};

pub mod battery;
mod bookkeeping;
pub mod crypto;
mod destination;
pub(crate) mod experiment;
mod files;
mod inputs;
mod kernel_tick;
pub mod link;
mod pace;
pub mod quic;
pub mod scheduling;
pub mod serialisation;
mod sleeping;
pub mod storage;
mod trading;
pub mod udp;
mod waking;

/// What the catalogue depends on.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// How thorough.
    pub depth: Depth,
    /// A folder for files that are written and removed again.
    pub scratch: PathBuf,
    /// A serving probe to measure the link to.
    pub peer: Option<SocketAddr>,
}

/// Every case of a run, in order.
pub fn catalogue(surroundings: &Surroundings) -> Vec<Case> {
    [
        crypto::cases(surroundings.depth),
        serialisation::cases(surroundings.depth),
        storage::cases(surroundings),
        destination::cases(surroundings),
        scheduling::cases(surroundings.depth),
        udp::cases(surroundings.depth),
        quic::cases(surroundings.depth),
        link::cases(surroundings),
    ]
    .concat()
}
