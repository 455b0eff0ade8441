//! The UDP side of a serving probe: echoes come back, data is counted, queries are answered,
//! everything else is dropped and counted by its reason.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::codec::{decode, Kind, Message, Refusal};
use super::ledger::Ledger;
use super::Shared;
use crate::sockets::{is_passing, DATAGRAM_BYTES_MAX};
use crate::stop::Stop;

/// Serve until `stop` is raised or the socket is of no more use.
pub(super) fn serve(socket: &UdpSocket, shared: &Shared, stop: &Stop) -> io::Result<()> {
    socket.set_read_timeout(Some(LOOK_INTERVAL))?;
    // The link is to be measured, not this buffer; what the system does not grant is not needed.
    let _ = SockRef::from(socket).set_recv_buffer_size(BUFFER_BYTES);
    let mut served = Served {
        ledger: Ledger::default(),
        start: Instant::now(),
        shared,
    };
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    while !stop.is_raised() {
        match socket.recv_from(&mut buffer) {
            Ok((bytes, from)) => {
                if let Some(answer) = served.answer(&buffer[..bytes], from) {
                    // Whoever is gone by now does not matter to anybody else.
                    let _ = socket.send_to(&answer, from);
                }
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct Served<'a> {
    ledger: Ledger,
    start: Instant,
    shared: &'a Shared,
}

impl Served<'_> {
    /// What goes back, if anything; never more than what came.
    fn answer(&mut self, bytes: &[u8], from: SocketAddr) -> Option<Vec<u8>> {
        let message = match decode(bytes) {
            Ok(message) => message,
            Err(refusal) => return self.refuse(refusal),
        };
        let train = (from, message.session);
        let (kind, counts) = match message.kind {
            Kind::Data => return self.count(&message, from, bytes.len()),
            Kind::Echo => (Kind::EchoReply, message.counts),
            Kind::Query => (Kind::Report, self.ledger.counts(train)),
            Kind::EchoReply | Kind::Report => return self.refuse(Refusal::Unasked),
        };
        self.shared.note(|stats| stats.udp_answered += 1);
        let answer = Message {
            kind,
            counts,
            ..message
        };
        Some(answer.encode(bytes.len()))
    }

    fn refuse(&self, refusal: Refusal) -> Option<Vec<u8>> {
        self.shared.refuse(refusal);
        None
    }

    fn count(&mut self, message: &Message, from: SocketAddr, bytes: usize) -> Option<Vec<u8>> {
        let (train, now) = ((from, message.session), self.start.elapsed());
        self.ledger.count(train, message.sequence, bytes, now);
        self.shared.note(|stats| stats.udp_counted += 1);
        None
    }
}

/// How long a stop may go unnoticed.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A tenth of a second at 40 MB/s, more than phones exchange.
const BUFFER_BYTES: usize = 4 << 20;
