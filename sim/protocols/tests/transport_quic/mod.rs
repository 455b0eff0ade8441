//! QUIC between phones: without faults, under loss, at rest, and over the life of its connections.

mod exchange;
mod life;
mod loss;
mod migration;
mod pacing;
mod rest;
mod silence;
mod tasks;
