//! A listener that is killed in the middle and started again on the same ports.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pocketsim_probe_core::stop::Stop;
use pocketsim_probe_core::trade::{Carrier, ListenOptions, Outcome};

use super::ends::{options, until, watched, Listener};

/// Kills the listener once it has stored something, starts another one, and goes on until that
/// one has stored something too.
fn survives(carrier: Carrier) -> Outcome {
    let first = Listener::start();
    let address = first.address;
    let mut options = options(address, carrier);
    options.rates_per_s = vec![50.0];
    options.duration = Duration::from_secs(1_000);
    let stored = Arc::new(AtomicU64::new(0));
    let (stop, seen) = (Stop::new(), Arc::clone(&stored));
    let stopper = stop.clone();
    let dialler = thread::spawn(move || {
        watched(&options, &stopper, move |progress| {
            seen.store(progress.stored, Ordering::Relaxed)
        })
    });
    until(|| stored.load(Ordering::Relaxed) > 0);
    first.end();
    let before = stored.load(Ordering::Relaxed);
    let second = Listener::with(ListenOptions::new(SocketAddr::new(
        address.ip(),
        address.port(),
    )));
    // Whatever the first one's last answers were, there are more now than it can have given.
    until(|| stored.load(Ordering::Relaxed) > before + 100);
    stop.raise();
    let outcome = dialler.join().expect("no panic");
    let theirs = second.end();
    assert!(theirs.repetitions[0].stored > 0, "{theirs:#?}");
    outcome
}

fn resumes(carrier: Carrier) {
    let outcome = survives(carrier);
    let one = &outcome.repetitions[0];
    assert_eq!(one.reintroductions, 1, "{one:#?}");
    assert!(
        !one.complete,
        "the second listener did not store what the first did"
    );
    let gone: u32 = one.lost.values().sum();
    assert_eq!(
        one.sent,
        one.stored + u64::from(gone),
        "every proposal has a fate: {one:#?}"
    );
    assert!(one
        .listener
        .as_ref()
        .is_some_and(|says| says.stored < one.stored));
}

#[test]
fn udp_resumes() {
    resumes(Carrier::Udp);
}

#[test]
fn a_kept_connection_is_dialled_again() {
    resumes(Carrier::QuicKeep);
}

#[test]
fn reconnecting_resumes() {
    resumes(Carrier::QuicReconnect);
}

#[test]
fn tftp_resumes() {
    resumes(Carrier::Tftp);
}
