//! What is computed, stored and simulated: tests that wait for no datagram.

mod measuring;
mod quic;
mod tokens;
