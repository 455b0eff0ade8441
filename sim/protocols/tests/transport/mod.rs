//! The transports that keep no connection: UDP, bare packets of IPv8, TFTP.

mod ipv8;
mod tftp;
mod udp;
