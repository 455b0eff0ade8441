//! Kernels of the group `scheduling`: how late a sleep ends, how long a thread takes to start or
//! to wake, and what a task of an async runtime costs.
//!
//! What deliberately does not live here: any law fitted to these; that is calibration's.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::experiment::{case, collect, Watch, WALL_AND_CPU};
use crate::kernel::{Budget, Case, Depth, Group, Series, Unmeasured};
use crate::stop::Stop;

/// The cases of this group.
pub fn cases(depth: Depth) -> Vec<Case> {
    let requests_s = match depth {
        Depth::Quick => &REQUESTED_S_QUICK[..],
        Depth::Full => &REQUESTED_S[..],
    };
    let sleeps = requests_s.iter().map(|&requested_s| {
        let parameters = [("requested_s", requested_s)];
        case(GROUP, "sleep_overshoot", &parameters, move |budget| {
            sleep_overshoot(budget, requested_s)
        })
    });
    let others = [
        case(GROUP, "thread_spawn", &[], thread_spawn),
        case(GROUP, "task_spawn", &[], task_spawn),
        case(GROUP, "wake_up_latency", &[], |budget| {
            wake_up_latency(budget, Sleeper::in_recvfrom()?)
        }),
        case(GROUP, "wake_up_latency", &[("futex", 1.0)], |budget| {
            wake_up_latency(budget, Sleeper::in_park()?)
        }),
    ];
    let beside_others = super::sleeping::cases();
    let alone = super::kernel_tick::cases();
    sleeps
        .chain(others)
        .chain(beside_others)
        .chain(alone)
        .collect()
}

/// `thread::sleep`, as the sender loop of the benchmark app paces itself.
fn sleep_overshoot(budget: &Budget<'_>, requested_s: f64) -> Result<Vec<Series>, Unmeasured> {
    let requested = Duration::from_secs_f64(requested_s);
    collect(budget, ["overshoot_s"], || {
        let start = Instant::now();
        thread::sleep(requested);
        Ok([budget.clock.since(start) - requested_s])
    })
}

/// Start of a thread that does nothing, and its join; CPU of both threads.
fn thread_spawn(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    collect(budget, WALL_AND_CPU, || {
        let watch = Watch::process();
        for _ in 0..SPAWNS {
            let spawned = thread::Builder::new().spawn(|| ())?;
            spawned.join().expect("a thread that does nothing");
        }
        Ok(watch.per_operation(budget.clock, SPAWNS))
    })
}

/// Start of a task that does nothing, from a task, and its join; CPU of all workers.
fn task_spawn(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    collect(budget, WALL_AND_CPU, || {
        let clock = budget.clock.clone();
        let batch = runtime.spawn(async move {
            let watch = Watch::process();
            for _ in 0..TASKS {
                let spawned = tokio::spawn(async {});
                spawned.await.expect("a task that does nothing");
            }
            watch.per_operation(&clock, TASKS)
        });
        Ok(runtime.block_on(batch).expect("nothing cancels it"))
    })
}

/// From the call that wakes a thread, which blocked long enough to be off its core, until it runs:
/// it includes the call, of which `sent_s` is the time, and the return of the one that blocked.
fn wake_up_latency(budget: &Budget<'_>, sleeper: Sleeper) -> Result<Vec<Series>, Unmeasured> {
    collect(budget, ["latency_s", "sent_s"], || {
        thread::sleep(REST);
        // A parked thread may wake on its own.
        while sleeper.woke.try_recv().is_ok() {}
        let start = Instant::now();
        (sleeper.wake)()?;
        let sent_s = budget.clock.since(start);
        let woke = sleeper.woke.recv_timeout(WAKE_LIMIT);
        let woke = woke.map_err(|_| Unmeasured::because("a thread did not wake within 1 s"))?;
        let latency_s = woke.duration_since(start).as_secs_f64();
        Ok([(latency_s - budget.clock.read_s).max(0.0), sent_s.max(0.0)])
    })
}

/// A thread that blocks, and says when it woke.
struct Sleeper {
    wake: Box<dyn Fn() -> std::io::Result<()>>,
    woke: mpsc::Receiver<Instant>,
    end: Stop,
    thread: Option<thread::JoinHandle<()>>,
}

impl Sleeper {
    /// Blocks in `recvfrom` and is woken by a datagram, as a thread that receives.
    fn in_recvfrom() -> std::io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        sender.connect(socket.local_addr()?)?;
        let block = move || socket.recv_from(&mut [0; 16]).is_ok();
        let wake = move |_: &thread::Thread| sender.send(&[0]).map(|_| ());
        Self::start(block, wake)
    }

    /// Blocks on a futex, as a thread that waits for another.
    fn in_park() -> std::io::Result<Self> {
        let block = || {
            thread::park();
            true
        };
        Self::start(block, |thread| {
            thread.unpark();
            Ok(())
        })
    }

    fn start(
        mut block: impl FnMut() -> bool + Send + 'static,
        wake: impl Fn(&thread::Thread) -> std::io::Result<()> + 'static,
    ) -> std::io::Result<Self> {
        let (tell, woke) = mpsc::channel();
        let end = Stop::new();
        let ending = end.clone();
        let thread = thread::Builder::new().spawn(move || {
            while block() && !ending.is_raised() && tell.send(Instant::now()).is_ok() {}
        })?;
        let handle = Arc::new(thread.thread().clone());
        Ok(Self {
            wake: Box::new(move || wake(&handle)),
            woke,
            end,
            thread: Some(thread),
        })
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.end.raise();
        // A thread that cannot be woken any more is left behind rather than waited for.
        if (self.wake)().is_ok() {
            let _ = self.thread.take().map(thread::JoinHandle::join);
        }
    }
}

const GROUP: Group = Group::Scheduling;

/// From a tenth of a millisecond, where the timer's slack of 50 us shows (prctl(2),
/// PR_SET_TIMERSLACK), to the pauses of the theses' slower rungs (8 to 32 per second).
const REQUESTED_S: [f64; 11] = [
    0.1e-3, 0.25e-3, 0.5e-3, 1e-3, 2e-3, 4e-3, 8e-3, 16e-3, 31e-3, 62e-3, 125e-3,
];
/// The pauses of the fastest rung and of two slower ones.
const REQUESTED_S_QUICK: [f64; 3] = [1e-3, 4e-3, 16e-3];

/// For one sample: long against reading the CPU clock, short against a time limit.
const SPAWNS: usize = 8;
const TASKS: usize = 256;

/// Long enough for a thread to block and for a core to go idle.
const REST: Duration = Duration::from_millis(2);

/// A thread that takes longer is not going to run.
const WAKE_LIMIT: Duration = Duration::from_secs(1);
