//! The device probe: what a phone's cryptography, serialisation, storage and network cost.
//!
//! | module | what lives there |
//! |---|---|
//! | [`clock`], [`sampler`], [`sketch`] | how anything is timed: clock first, then warm-up, then samples |
//! | [`kernel`], [`kernels`] | what is timed |
//! | [`unmeasured`] | why something was not |
//! | [`run`] | one run over a catalogue of cases, from the clock to the report |
//! | [`host`], [`report`] | what the phone is, and the document that comes out |
//! | [`peer`] | the server that answers another probe, which measures the link to it |
//! | [`trade`] | the two-phone experiment on real sockets, with the machines of `pocketsim-protocols` |
//! | [`tokens`] | offline tokens as files: folders of an authority and of clients, and what passes between them |
//! | [`relay`] | a link with known faults between two probes |
//! | [`quic`] | quinn as all of them use it |
//! | [`destination`] | where the file goes that a user names |
//!
//! What deliberately does not live here: command lines, Java, and any figure of the simulator.

pub mod clock;
pub mod destination;
pub mod host;
pub mod kernel;
pub mod kernels;
pub mod peer;
pub mod quic;
pub mod relay;
pub mod report;
pub mod run;
pub mod sampler;
pub mod sketch;
mod sockets;
pub mod stop;
pub mod tokens;
pub mod trade;
pub mod unmeasured;
