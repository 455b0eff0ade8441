//! All tests of the protocols, in one program: each of its own would compile and link them anew.

mod common;
mod format;
mod payment;
mod states;
mod token;
mod tokens;
mod transport;
mod transport_eva;
mod transport_quic;
mod trustchain;
