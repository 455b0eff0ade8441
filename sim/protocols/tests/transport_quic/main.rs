//! QUIC between phones: without faults, under loss, and over the life of its connections.

#[path = "../common/mod.rs"]
mod common;

mod exchange;
mod life;
mod loss;
