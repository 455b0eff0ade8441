//! The trade, from its bytes to two ends on loopback.

mod control;
mod crowd;
mod destination;
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
mod places;
mod store;
mod tftp;
mod tftp_faults;
