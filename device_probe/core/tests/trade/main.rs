//! The trade, from its bytes to two ends on loopback; one binary, as linking costs most.

mod control;
mod ends;
mod export;
mod faults;
mod hostile;
mod late;
mod link;
mod negotiation;
mod node;
mod pace;
mod parity;
mod tftp;
mod tftp_faults;
