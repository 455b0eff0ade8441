//! Protocols of pocketsim as machines without I/O; see [`contract`].

pub mod contract;
