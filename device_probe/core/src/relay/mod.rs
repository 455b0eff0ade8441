//! A link with known faults between two probes, for machines whose kernel has no netem.
//!
//! | module | what lives there |
//! |---|---|
//! | [`rule`] | the faults, and the rules that let a datagram pass, delay or drop it |
//! | [`queue`] | the rate's queue, and the schedule of what is under way |
//! | [`stream`] | chance, by name and seed |
//! | [`flow`] | who talks to whom through which socket |
//! | [`socket`] | the sockets and the wait for them |
//! | [`arrival`] | when a datagram reached this machine |
//! | [`driver`] | all of them together, on real sockets |
//! | [`statistics`] | what is counted |
//!
//! The first four know no socket and no clock. What deliberately does not live here: ECN and
//! fragments, which end at the relay, and any protocol above UDP.

use std::net::SocketAddr;
use std::time::Duration;

pub mod arrival;
pub mod driver;
pub mod flow;
pub mod queue;
pub mod rule;
pub mod socket;
pub mod statistics;
pub mod stream;

pub use driver::Relay;
use flow::IN_USE;
use rule::Faults;

/// What a relay is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where clients send to; the other ports follow. Port 0 takes whatever is free.
    pub listen: SocketAddr,
    /// Where the server listens; its other ports follow.
    pub to: SocketAddr,
    /// How many consecutive ports are relayed.
    pub ports: u16,
    /// Faults from the clients to the server.
    pub up: Faults,
    /// Faults from the server to the clients.
    pub down: Faults,
    /// Root of all chance.
    pub seed: u64,
    /// A flow without datagrams for so long is closed; at least [`IN_USE`].
    pub idle: Duration,
}

impl Options {
    /// Why these options cannot be, if so.
    ///
    /// # Errors
    /// The first thing that is wrong, for people.
    pub fn check(&self) -> Result<(), String> {
        self.check_addresses()?;
        if self.idle < IN_USE {
            let (idle_s, least_s) = (self.idle.as_secs_f64(), IN_USE.as_secs_f64());
            return Err(format!(
                "idle {idle_s} s is less than {least_s} s, for which a flow in use may pause"
            ));
        }
        self.up.check("up").and_then(|()| self.down.check("down"))
    }

    fn check_addresses(&self) -> Result<(), String> {
        let to = self.to;
        if to.port() == 0 {
            return Err(format!("{to} is no address to send to: its port is 0"));
        }
        if to.ip().is_unspecified() {
            let ip = to.ip();
            return Err(format!(
                "{to}: {ip} is every address; answers come from one"
            ));
        }
        let more = self.ports.saturating_sub(1);
        for address in [self.listen, to] {
            if address.port().checked_add(more).is_none() {
                let (ports, highest) = (self.ports, u16::MAX - more);
                return Err(format!(
                    "{address} leaves no room for {ports} ports; the highest first port is {highest}"
                ));
            }
        }
        Ok(())
    }
}

/// Longer than any flow of the probe pauses: QUIC's idle timeout is 30 s with quinn's defaults.
pub const IDLE: Duration = Duration::from_secs(60);
