//! The transports that keep no connection: UDP, bare packets of IPv8, TFTP.

#[path = "../common/mod.rs"]
mod common;

mod ipv8;
mod tftp;
mod udp;
