//! Kernels of the group `udp`: what one datagram costs on this device, and how many wait in a
//! socket buffer.
//!
//! Everything goes over loopback, so a send includes what the kernel does for the receiver (on
//! loopback it queues the datagram in the sender's call) and excludes the radio's driver. What
//! deliberately does not live here: the link to a peer, which is `kernels::link`.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::experiment::{case, collect, Watch, WALL_AND_CPU};
use super::{files, pace, trading, waking};
use crate::kernel::{Budget, Case, Depth, Group, Series, Unmeasured};

/// The cases of this group.
pub fn cases(depth: Depth) -> Vec<Case> {
    let sizes = match depth {
        Depth::Quick => &BYTES_QUICK[..],
        Depth::Full => &BYTES[..],
    };
    [
        by_size("udp_send", sizes, send),
        by_size("udp_receive", sizes, receive),
        capacities(depth),
        by_size("udp_round_trip", sizes, round_trip),
        waking::cases(depth),
        pace::cases(depth),
        trading::cases(),
        files::cases(depth),
    ]
    .concat()
}

type Measure = fn(&Budget<'_>, usize) -> Result<Vec<Series>, Unmeasured>;

fn by_size(kernel: &'static str, sizes: &[usize], measure: Measure) -> Vec<Case> {
    let sized = |&bytes: &usize| {
        let parameters = [("bytes", bytes as f64)];
        case(GROUP, kernel, &parameters, move |budget| {
            measure(budget, bytes)
        })
    };
    sizes.iter().map(sized).collect()
}

/// A buffer of 0 bytes is the system's default, left untouched.
fn capacities(depth: Depth) -> Vec<Case> {
    let (sizes, buffers) = match depth {
        Depth::Quick => (&CAPACITY_BYTES_QUICK[..], &BUFFER_BYTES[..1]),
        Depth::Full => (&CAPACITY_BYTES[..], &BUFFER_BYTES[..]),
    };
    let of_buffer = |&buffer: &usize| {
        let sized = move |&bytes: &usize| {
            let parameters = [("bytes", bytes as f64), ("buffer_bytes", buffer as f64)];
            case(GROUP, "udp_buffer_capacity", &parameters, move |budget| {
                capacity(budget, bytes, buffer)
            })
        };
        sizes.iter().map(sized)
    };
    buffers.iter().flat_map(of_buffer).collect()
}

/// `send` on a connected socket, one call for each datagram, while the receiver has room.
fn send(budget: &Budget<'_>, bytes: usize) -> Result<Vec<Series>, Unmeasured> {
    let pair = Pair::with_room()?;
    let datagram = vec![0x5a; bytes];
    let batch = batch(bytes);
    collect(budget, WALL_AND_CPU, || {
        let watch = Watch::thread();
        for _ in 0..batch {
            pair.sender.send(&datagram)?;
        }
        let sample = watch.per_operation(budget.clock, batch);
        pair.drain()?;
        Ok(sample)
    })
}

/// `recvfrom` of a datagram that waits already: no wake-up.
fn receive(budget: &Budget<'_>, bytes: usize) -> Result<Vec<Series>, Unmeasured> {
    let pair = Pair::with_room()?;
    let datagram = vec![0x5a; bytes];
    collect(budget, WALL_AND_CPU, || {
        for _ in 0..TRIES {
            if let Some(sample) = pair.timed_batch(budget, &datagram)? {
                return Ok(sample);
            }
        }
        Err(Unmeasured::because("no batch on loopback arrived whole"))
    })
}

/// Datagrams that wait in a buffer nobody reads; what more is sent is dropped.
fn capacity(
    budget: &Budget<'_>,
    bytes: usize,
    requested: usize,
) -> Result<Vec<Series>, Unmeasured> {
    let budget = Budget {
        samples: budget.samples.min(CAPACITY_SAMPLES),
        ..*budget
    };
    let datagram = vec![0x5a; bytes];
    collect(&budget, ["capacity_datagrams", "granted_bytes"], || {
        let pair = Pair::bind()?;
        let buffer = SockRef::from(&pair.receiver);
        if requested > 0 {
            buffer.set_recv_buffer_size(requested)?;
        }
        let granted = buffer.recv_buffer_size()?;
        for _ in 0..granted / bytes.max(CHARGE_BYTES_MIN) + 2 {
            pair.sender.send(&datagram)?;
        }
        Ok([pair.drain()? as f64, granted as f64])
    })
}

/// To a thread that answers each datagram with its like, and back.
fn round_trip(budget: &Budget<'_>, bytes: usize) -> Result<Vec<Series>, Unmeasured> {
    let echo = Echo::start()?;
    let (datagram, mut answer) = (vec![0x5a; bytes], vec![0; bytes]);
    collect(budget, ["rtt_s"], || {
        let start = Instant::now();
        echo.socket.send(&datagram)?;
        let received = echo.socket.recv(&mut answer)?;
        let rtt_s = budget.clock.since(start);
        assert_eq!(received, bytes, "the echo answers with what it got");
        Ok([rtt_s])
    })
}

/// Two sockets on loopback, one sending to the other.
struct Pair {
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Pair {
    fn bind() -> io::Result<Self> {
        let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        sender.connect(receiver.local_addr()?)?;
        receiver.set_nonblocking(true)?;
        Ok(Self { sender, receiver })
    }

    /// As much buffer as the system grants, so that a batch fits.
    fn with_room() -> io::Result<Self> {
        let pair = Self::bind()?;
        SockRef::from(&pair.receiver).set_recv_buffer_size(ROOM_BYTES)?;
        Ok(pair)
    }

    /// Reads until nothing is left; how many datagrams there were.
    fn drain(&self) -> io::Result<usize> {
        let mut buffer = [0; 1];
        let mut count = 0;
        // A datagram that is cut to one byte leaves the queue as well.
        while take(&self.receiver, &mut buffer)? {
            count += 1;
        }
        Ok(count)
    }

    /// Fills the queue with a batch and times its reading; nothing if part of it was not there.
    fn timed_batch(
        &self,
        budget: &Budget<'_>,
        datagram: &[u8],
    ) -> Result<Option<[f64; 2]>, Unmeasured> {
        let batch = batch(datagram.len());
        for _ in 0..batch {
            self.sender.send(datagram)?;
        }
        Ok(timed_reads(budget, &self.receiver, datagram.len(), batch)?)
    }
}

/// Datagrams that surely fit the buffer: the kernel charges less than four times their size, or
/// little enough that [`BATCH`] of them fit.
fn batch(bytes: usize) -> usize {
    (ROOM_SURE_BYTES / (4 * bytes)).clamp(1, BATCH)
}

/// Times `batch` reads of a socket that does not block; nothing if one of them found no datagram.
pub(crate) fn timed_reads(
    budget: &Budget<'_>,
    socket: &UdpSocket,
    bytes: usize,
    batch: usize,
) -> io::Result<Option<[f64; 2]>> {
    let mut buffer = vec![0; bytes];
    let watch = Watch::thread();
    let mut whole = true;
    for _ in 0..batch {
        whole &= take(socket, &mut buffer)?;
    }
    let sample = watch.per_operation(budget.clock, batch);
    Ok(whole.then_some(sample))
}

/// Whether there was a datagram to read.
pub(crate) fn take(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<bool> {
    match socket.recv_from(buffer) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// A thread that answers every datagram of one peer; an empty one ends it.
struct Echo {
    socket: UdpSocket,
    thread: Option<thread::JoinHandle<()>>,
}

impl Echo {
    fn start() -> io::Result<Self> {
        let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        near.connect(far.local_addr()?)?;
        far.connect(near.local_addr()?)?;
        near.set_read_timeout(Some(ANSWER_LIMIT))?;
        let thread = thread::Builder::new().spawn(move || answer_all(&far))?;
        Ok(Self {
            socket: near,
            thread: Some(thread),
        })
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // A thread that cannot be reached any more is left behind rather than waited for.
        if self.socket.send(&[]).is_ok() {
            let _ = self.thread.take().map(thread::JoinHandle::join);
        }
    }
}

fn answer_all(socket: &UdpSocket) {
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    while let Ok(bytes @ 1..) = socket.recv(&mut buffer) {
        if socket.send(&buffer[..bytes]).is_err() {
            return;
        }
    }
}

const GROUP: Group = Group::Udp;

/// A UDP payload over IPv4: 65535 less the headers of IP and UDP.
const DATAGRAM_BYTES_MAX: usize = 65_507;

/// Small; half-block; block of the theses; QUIC's first MTU; the last size of the kernel's smaller
/// allocation; the limit of Kotlin-IPv8; more than one frame; the largest there is.
const BYTES: [usize; 9] = [
    64,
    128,
    384,
    668,
    1200,
    1431,
    1472,
    8192,
    DATAGRAM_BYTES_MAX,
];
const BYTES_QUICK: [usize; 3] = [128, 668, 1472];

/// Sizes between which the kernel charges a datagram differently.
const CAPACITY_BYTES: [usize; 7] = [64, 384, 640, 668, 1200, 1431, 1472];
const CAPACITY_BYTES_QUICK: [usize; 2] = [384, 668];

/// Default; what the JVM calls the default; what Kotlin-IPv8 asks for with EVA.
const BUFFER_BYTES: [usize; 3] = [0, 106_496, 425_984];

/// The capacity does not vary; a few samples show that.
const CAPACITY_SAMPLES: usize = 5;

/// Linux charges a datagram its `sk_buff` (232 bytes in 6.x) besides its data.
const CHARGE_BYTES_MIN: usize = 256;

/// For one sample, at most: long against reading the CPU clock.
const BATCH: usize = 32;

/// What is asked for where drops would spoil the measurement; the system may grant less.
const ROOM_BYTES: usize = 4 << 20;
/// What every Linux grants (net.core.rmem_max is 212992 unless somebody changed it).
const ROOM_SURE_BYTES: usize = 212_992;

/// Loopback loses datagrams only to full queues, and those were emptied.
const TRIES: usize = 10;

/// An echo on the same device takes microseconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
