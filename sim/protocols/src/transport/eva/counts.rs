//! What EVA counts: work done twice, and what ended without success, by reason.
//!
//! What deliberately does not live here: rows of the trace, which belong to messages.

/// What has happened at one phone, since it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvaCounts {
    /// Data packets made, repeated ones too.
    pub blocks_sent: u64,
    /// Data packets of blocks that had been sent before.
    pub blocks_repeated: u64,
    /// Data packets of no transfer that is under way.
    pub blocks_stray: u64,
    /// Acknowledgements made, repeated ones too.
    pub acknowledgements_sent: u64,
    /// Those that a silence made the receiver repeat.
    pub acknowledgements_repeated: u64,
    /// Those of no transfer that is under way.
    pub acknowledgements_stray: u64,
    /// Write requests that were sent again.
    pub offers_sent_again: u64,
    /// Write requests of a message that is under way or has arrived.
    pub offers_repeated: u64,
    /// Write requests refused because of another transfer.
    pub offers_refused_busy: u64,
    /// Write requests refused because of their size.
    pub offers_refused_size: u64,
    /// Error messages with nothing under way.
    pub errors_stray: u64,
    /// Transfers that the peer refused.
    pub outgoing_refused: u64,
    /// Transfers given up by the sender.
    pub outgoing_timed_out: u64,
    /// Transfers given up by the receiver.
    pub incoming_timed_out: u64,
    /// Waiting messages that lost their bytes because their turn came too early.
    pub messages_emptied: u64,
    /// Packets above 1472 bytes, dropped by the sender's endpoint.
    pub packets_oversized: u64,
    /// Messages of the peer that contradict themselves.
    pub packets_malformed: u64,
}
