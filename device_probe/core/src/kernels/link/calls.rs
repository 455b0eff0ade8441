//! What sending to the peer and receiving from it costs this device's CPU, call by call.
//!
//! The kernels of the group `udp` ask the same over loopback, where a send also queues the datagram
//! for its receiver; here it goes down to the radio's driver. What the driver's interrupts take when
//! something arrives is in nobody's CPU time, so not in these figures either.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use super::prober::{new_session, Prober};
use crate::kernel::{Budget, Series, Unmeasured};
use crate::kernels::experiment::{collect, Watch, WALL_AND_CPU};
use crate::kernels::udp::{take, timed_reads};
use crate::peer::codec::{Counts, Kind, Message};

/// `send` on a connected socket, one call for each datagram.
pub(super) fn send(
    budget: &Budget<'_>,
    peer: SocketAddr,
    bytes: usize,
) -> Result<Vec<Series>, Unmeasured> {
    let socket = Prober::dial(peer)?.socket()?;
    let datagram = datagram(Kind::Data, bytes)?;
    collect(budget, WALL_AND_CPU, || {
        thread::sleep(GAP);
        let watch = Watch::thread();
        for _ in 0..BATCH {
            socket.send(&datagram)?;
        }
        Ok(watch.per_operation(budget.clock, BATCH))
    })
}

/// `recv` of an answer that waits already: no wake-up.
pub(super) fn receive(
    budget: &Budget<'_>,
    peer: SocketAddr,
    bytes: usize,
) -> Result<Vec<Series>, Unmeasured> {
    let socket = Prober::dial(peer)?.socket()?;
    let echo = datagram(Kind::Echo, bytes)?;
    collect(budget, WALL_AND_CPU, || {
        for _ in 0..TRIES {
            if let Some(sample) = timed_batch(budget, &socket, &echo)? {
                return Ok(sample);
            }
        }
        Err(Unmeasured::because(format!(
            "{TRIES} times not all of {BATCH} answers came within {} ms",
            ANSWERS_WITHIN.as_millis()
        )))
    })
}

/// Asks for a batch of answers and times their reading; nothing if one of them was not there.
fn timed_batch(
    budget: &Budget<'_>,
    socket: &UdpSocket,
    echo: &[u8],
) -> Result<Option<[f64; 2]>, Unmeasured> {
    socket.set_nonblocking(true)?;
    // Late ones of the batch before.
    while take(socket, &mut [0])? {}
    for _ in 0..BATCH {
        socket.send(echo)?;
    }
    thread::sleep(ANSWERS_WITHIN);
    Ok(timed_reads(budget, socket, echo.len(), BATCH)?)
}

fn datagram(kind: Kind, bytes: usize) -> Result<Vec<u8>, Unmeasured> {
    let message = Message {
        kind,
        session: new_session()?,
        sequence: 0,
        time_ns: 0,
        counts: Counts::default(),
    };
    Ok(message.encode(bytes))
}

/// Datagrams of a sample: some 50 us of calls, long against reading the CPU time, and few enough for
/// any queue on the way.
const BATCH: usize = 16;

/// For the radio to send a batch before the next one.
const GAP: Duration = Duration::from_millis(10);

/// Longer than a round trip on any local network; answers that take longer make a sample none.
const ANSWERS_WITHIN: Duration = Duration::from_millis(50);

/// A link that loses 10 % lets a batch through once in five times.
const TRIES: usize = 50;
