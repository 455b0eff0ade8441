//! Protocols of pocketsim as machines without I/O; see [`contract`].

pub mod block;
pub mod bursts;
pub mod compute;
pub mod contract;
pub mod crypto;
mod deadlines;
pub mod half_block;
pub mod pairwise;
pub mod payment;
pub mod reader;
pub mod replay;
pub mod token;
pub mod token_batch;
pub mod transfer;
pub mod transitions;
pub mod transport;
pub mod trustchain;
