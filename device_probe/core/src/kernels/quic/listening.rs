//! The listener of `probe trade`, on a core of its own, beside what is measured on another.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;

use crate::host::affinity::on_cores;
use crate::kernel::{Series, Unmeasured};
use crate::kernels::trading::Traders;
use crate::kernels::waking::two_cores;
use crate::stop::Stop;
use crate::trade::carrier::serve_quic::{serve, QuicCounts};
use crate::trade::Patience;

/// What `measure` finds on a core of its own, beside who countersigns at an address.
pub(super) fn beside_a_listener(
    traders: &Traders,
    measure: impl FnOnce(SocketAddr) -> Result<Vec<Series>, Unmeasured> + Send,
) -> Result<Vec<Series>, Unmeasured> {
    let (own, other) = two_cores()?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = socket.local_addr()?;
    let over = Stop::new();
    thread::scope(|scope| {
        let ended_whatever_happens = over.when_dropped();
        let listening = scope.spawn(|| {
            on_cores(&[own], || {
                let (counts, patience) = (Arc::<QuicCounts>::default(), Patience::default());
                let node = &traders.countersigner;
                Ok(serve(socket, node, &counts, patience, &|_| true, &over)?)
            })
        });
        let measured = on_cores(&[other], || measure(address));
        drop(ended_whatever_happens);
        let listened = listening.join().expect("it returns what goes wrong");
        listened.and(measured)
    })
}
