//! Three hundred clients that come back whenever they are sent away, and a dialler from elsewhere.

use std::io::Write as _;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pocketsim_probe_core::quic::{client_config, SERVER_NAME};
use pocketsim_probe_core::trade::ports::Service;
use pocketsim_probe_core::trade::{Carrier, DialOptions, ListenOptions};
use tokio::runtime::Runtime;

use super::ends::{options, trade, until, Listener};

/// Clients of QUIC that bring no block; they go when this is dropped.
struct Crowd {
    _runtime: Runtime,
}

impl Crowd {
    /// So many clients from these addresses, when the listener has answered each of them once.
    fn at(listener: &Listener, addresses: &[IpAddr]) -> Self {
        let server = Service::Quic.at(listener.address);
        let runtime = Runtime::new().expect("threads");
        let asked = Arc::new(AtomicUsize::new(0));
        let ask = async {
            for &address in addresses {
                let mut endpoint = quinn::Endpoint::client((address, 0).into()).expect("a port");
                endpoint.set_default_client_config(client_config());
                for _ in 0..CLIENTS / addresses.len() {
                    tokio::spawn(come_back(endpoint.clone(), server, Arc::clone(&asked)));
                }
            }
        };
        runtime.block_on(ask);
        until(|| asked.load(Ordering::Relaxed) == CLIENTS);
        Self { _runtime: runtime }
    }
}

async fn come_back(endpoint: quinn::Endpoint, server: SocketAddr, asked: Arc<AtomicUsize>) {
    for attempt in 0..ATTEMPTS_MAX {
        let connecting = endpoint.connect(server, SERVER_NAME).expect("possible");
        let connected = connecting.await;
        asked.fetch_add(usize::from(attempt == 0), Ordering::Relaxed);
        match connected {
            // Until it is sent away.
            Ok(connection) => drop(connection.closed().await),
            // A hundred that ask on without a breath would try this machine, not the rules.
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

/// A dialler from the listener's own address has all of its blocks stored, by both kinds of QUIC.
fn holds_against(bind: IpAddr, crowd: &[IpAddr]) {
    let listener = Listener::with(ListenOptions::new((bind, 0).into()));
    let crowd = Crowd::at(&listener, crowd);
    for (carrier, rate_per_s) in [(Carrier::QuicKeep, 80.0), (Carrier::QuicReconnect, 20.0)] {
        let outcome = trade(&DialOptions {
            rates_per_s: vec![rate_per_s],
            duration: Duration::from_secs_f64(BLOCKS as f64 / rate_per_s),
            ..options(listener.address, carrier)
        });
        let one = &outcome.repetitions[0];
        assert_eq!((one.sent, one.stored), (BLOCKS, BLOCKS), "{outcome:#?}");
        assert!(outcome.complete, "{outcome:#?}");
    }
    drop(crowd);
    let theirs = listener.end();
    let stored = theirs.repetitions.iter().map(|one| one.stored);
    assert_eq!(stored.collect::<Vec<_>>(), [BLOCKS, BLOCKS]);
    let counted = &theirs.counted;
    assert!(
        counted["quic_addresses_to_prove"] >= CLIENTS as u64,
        "{counted:?}"
    );
    assert!(counted["quic_connections_refused"] > 0, "{counted:?}");
    assert!(counted["quic_connections_evicted"] > 0, "{counted:?}");
}

#[test]
fn a_crowd_from_three_addresses_leaves_a_fourth_all_that_it_needs() {
    let crowd = [2, 3, 4].map(|last| IpAddr::from([127, 0, 0, last]));
    holds_against([127, 0, 0, 1].into(), &crowd);
}

#[test]
fn a_crowd_with_all_addresses_of_a_network_leaves_another_all_that_it_needs() {
    let of_network = |network, host| Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, 0, host);
    let crowd: Vec<Ipv6Addr> = (1..=CLIENTS as u16)
        .map(|host| of_network(1, host))
        .collect();
    let listener = of_network(2, 1);
    let here = [&crowd[..], &[listener]].concat();
    let crowd: Vec<IpAddr> = crowd.into_iter().map(IpAddr::V6).collect();
    in_a_network_of_its_own(&here, || holds_against(listener.into(), &crowd));
}

/// Do it in a thread whose network is a loopback with these addresses, if that can be made.
fn in_a_network_of_its_own(addresses: &[Ipv6Addr], what: impl FnOnce() + Send) {
    let alone = || match make_network(addresses) {
        Ok(()) => what(),
        // It takes rights that not everybody has; where it must run, somebody says so.
        Err(reason) if std::env::var_os("POCKETSIM_NO_SKIP").is_some() => panic!("{reason}"),
        // Not by `eprintln`, which a test that passes keeps to itself.
        Err(reason) => {
            let _ = writeln!(
                std::io::stderr(),
                "skipped, as there is no network: {reason}"
            );
        }
    };
    thread::scope(|scope| scope.spawn(alone).join()).expect("it holds");
}

/// The calling thread and those that it starts have a network of their own from now on.
fn make_network(addresses: &[Ipv6Addr]) -> Result<(), String> {
    // SAFETY: it takes a number and concerns this thread alone.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(format!("unshare: {}", std::io::Error::last_os_error()));
    }
    let mut commands = "link set lo up\n".to_owned();
    for address in addresses {
        commands += &format!("address add {address}/64 dev lo nodad\n");
    }
    let mut ip = Command::new("ip")
        .args(["-6", "-batch", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| format!("ip: {error}"))?;
    let mut input = ip.stdin.take().expect("piped");
    input.write_all(commands.as_bytes()).expect("it reads");
    drop(input);
    match ip.wait().expect("it ends").success() {
        true => Ok(()),
        false => Err("ip could not add the addresses".to_owned()),
    }
}

const CLIENTS: usize = 300;
const BLOCKS: u64 = 160;
/// More than any of them gets to in the time of a test.
const ATTEMPTS_MAX: usize = 2_000;
const BREATH: Duration = Duration::from_secs(1);
