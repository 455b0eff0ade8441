//! The states of one end of a connection.
//!
//! What deliberately does not live here: what is done in each ([`super::connection`]). A phone
//! that goes off forgets its connections in whatever state they are.

use crate::named_enum;
use crate::transitions::Table;

named_enum! {
    /// Where a connection is in its life.
    ConnectionState {
        /// The dialler finds its peer and draws up the first flight.
        Preparing = "preparing",
        /// Flights of the handshake are under way.
        Handshaking = "handshaking",
        /// Data flows.
        Established = "established",
        /// This end has closed it, and answers late packets (RFC 9000 10.2.1).
        Closing = "closing",
        /// The other end has closed it; late packets are swallowed (RFC 9000 10.2.2).
        Draining = "draining",
        /// Nothing is known of it any more.
        Gone = "gone",
    }
}

named_enum! {
    /// What changes the state of a connection.
    ConnectionEvent {
        /// A message needs it.
        Dial = "dial",
        /// A ClientHello came.
        Accept = "accept",
        /// The client's first flight leaves.
        Launch = "launch",
        /// This end has finished the handshake.
        Finish = "finish",
        /// The app is done with it.
        Close = "close",
        /// The peer has closed it.
        PeerClose = "peer closes",
        /// The handshake takes too long, or nothing was heard for too long.
        Expire = "connect or idle timeout",
        /// Late packets have had their time.
        Drain = "drained",
    }
}

/// The life of one end of a connection.
pub const CONNECTION: Table<ConnectionState, ConnectionEvent> = {
    use ConnectionEvent::*;
    use ConnectionState::*;
    Table::new(&[
        (None, Dial, Preparing),
        (None, Accept, Handshaking),
        (Some(Preparing), Launch, Handshaking),
        (Some(Preparing), Expire, Gone),
        (Some(Handshaking), Finish, Established),
        (Some(Handshaking), Expire, Gone),
        (Some(Established), Close, Closing),
        (Some(Established), PeerClose, Draining),
        (Some(Established), Expire, Gone),
        (Some(Closing), Drain, Gone),
        (Some(Draining), Drain, Gone),
    ])
};
