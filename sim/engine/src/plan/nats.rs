//! What lies between phones and the Internet, and what the relay can carry.

use pocketsim_protocols::contract::Seconds;

#[cfg(feature = "python")]
use crate::plan::columns::numbers;
#[cfg(feature = "python")]
use pyo3::FromPyObject;

/// The NATs of all phones.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Nats {
    /// By phone, the number of its class in `NatClass::ALL`.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub classes: Vec<u32>,
    /// By number of the access network, what its NATs have in common.
    pub access: Vec<Nat>,
    /// What transports do about it that coordinate over the relay.
    pub hole_punching: HolePunching,
}

/// How long the NATs of an access network keep bindings, and what they do within a site.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Nat {
    /// After the last datagram out, while nothing has come in, seconds.
    pub unreplied_timeout_s: Seconds,
    /// After the last datagram out, once something has come in, seconds.
    pub replied_timeout_s: Seconds,
    /// However much it is used, seconds; none for as long as it is used.
    pub lifetime_s: Option<Seconds>,
    /// Whether what comes in keeps a binding, as what goes out does.
    pub inbound_refresh: bool,
    /// Whether phones of one site do not reach each other by private addresses.
    pub client_isolation: bool,
}

/// How pairs of phones punch that both are behind NATs.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct HolePunching {
    /// Probability that a pair succeeds whose classes allow it.
    pub success: f64,
    /// How long that takes, median of a lognormal law, seconds.
    pub setup_median_s: Seconds,
    /// Sigma of that.
    pub setup_sigma: f64,
    /// After how long a pair has failed, median of a lognormal law, seconds.
    pub failure_median_s: Seconds,
    /// Sigma of that.
    pub failure_sigma: f64,
    /// A connection is back on the relay when the direct path was silent for so long, seconds; 0 for
    /// never.
    pub path_trust_s: Seconds,
}

/// Limits of the relay.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Relay {
    /// What it receives of all clients, bytes per second; none for no limit.
    pub up_bytes_per_s: Option<f64>,
    /// What it sends to all clients, the same way.
    pub down_bytes_per_s: Option<f64>,
    /// Datagrams of a client that wait at each of its limits, or are on their way out there.
    pub queue_packets: u32,
    /// What it takes of a client on average, bytes per second; none for no limit.
    pub client_rate_bytes_per_s: Option<f64>,
    /// What it takes of it at once beyond that, bytes.
    pub client_burst_bytes: u32,
}
