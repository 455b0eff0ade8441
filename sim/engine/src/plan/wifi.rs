//! Access points of IEEE 802.11, as `pocketsim.sim.plan.plan` names what they need.

#[cfg(feature = "python")]
use pyo3::FromPyObject;

/// What the access points of a network are.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Wifi {
    /// `802.11n` (at 2.4 GHz) or `802.11ac` (at 5 GHz).
    pub standard: String,
    /// Width of the channel, MHz: 20, 40 or, of 802.11ac, 80.
    pub channel_width_mhz: u32,
    /// Spatial streams.
    pub streams: u32,
    /// Whether packets that wait for one receiver are sent as one frame (A-MPDU).
    pub aggregation: bool,
    /// Whether a lost block acknowledgement is asked for before the frame is repeated.
    pub block_ack_request: bool,
    /// Packets that may wait at each phone, and for all phones at the access point.
    pub queue_packets: u32,
}
