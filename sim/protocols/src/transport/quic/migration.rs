//! Connections of a phone that changes its access network (RFC 9000, section 9).
//!
//! Only the end that dialled may migrate, once the handshake is confirmed. It says so as soon as its
//! window lets it, as quinn does (quinn-proto 0.11.19 `Connection::local_address_changed`). The other
//! end then starts on a new path, of which it knows neither round trip nor window (9.4), and
//! challenges it (8.2). What is in flight over the old path stays in its window. A handshake goes on
//! if nothing was heard yet. Other connections are over: their socket has an address that is none any
//! more. Neither the limit of three times what came over a path that is not validated (8.1) is here,
//! nor a challenge on the old path, nor a validation that fails. Connections with a relay
//! survive at either end, since iroh 0.35 names peers by keys: QUIC does not hear of it, and the
//! relay carries everything until the direct path answers again. What deliberately does not live
//! here: when a phone changes its network, and what gets lost then.

use super::congestion::Rtt;
use super::connection::Connection;
use super::pacing::Pacer;
use super::wire::{Control, Level, Record};
use super::Out;
use crate::contract::{Payload, Reason, Seconds};

impl<P: Payload> Connection<P> {
    /// This end has another address.
    pub(super) fn change_network(&mut self, now: Seconds, out: &mut Out<P>) {
        if !self.is_open() {
            return;
        }
        if self.config.relay_first {
            self.direct_until_s = Seconds::NEG_INFINITY;
            return self.probe_direct_path(now, out);
        }
        let is_unheard = self.dialler && !self.answered;
        if is_unheard && !self.config.disable_active_migration {
            return; // what begins the handshake leaves again from the new address
        }
        if !self.dialler || !self.confirmed || self.config.disable_active_migration {
            return self.abandon(Reason::ConnectionLost, out);
        }
        self.migrations += 1;
        let migrate = Control::Migrate(self.migrations);
        self.queue(Level::Data, Record::Control(migrate));
        self.flush(now, out);
    }

    /// The other end has another address (quinn-proto `Connection::migrate`), since its so many-th
    /// migration.
    pub(super) fn on_migrated(&mut self, number: u32) {
        if number <= self.migrations {
            return; // it was told again, for it had no acknowledgement
        }
        self.migrations = number;
        self.probe_count = 0;
        self.rtt = Rtt::new(self.config.initial_rtt_s);
        self.congestion.restart();
        self.pacer = Pacer::new(self.congestion.window_bytes(), self.rtt.smoothed_s());
        self.search_mtu_again();
        self.queue(Level::Data, Record::Control(Control::PathChallenge));
    }
}
