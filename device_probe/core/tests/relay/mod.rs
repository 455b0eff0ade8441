//! The relay: its line in simulated time, its table of flows, and its sockets.

mod flows;
mod line;
mod sockets;
