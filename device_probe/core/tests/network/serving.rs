//! A probe that serves in this process, and what it did.

use std::sync::mpsc;
use std::sync::Mutex;
use std::thread::JoinHandle;

use pocketsim_probe_core::peer::{serve, Addresses, ServeObserver, Stats};
use pocketsim_probe_core::stop::Stop;

/// Ends with [`Serving::end`], or when it is dropped.
pub struct Serving {
    pub addresses: Addresses,
    stop: Stop,
    thread: Option<JoinHandle<Stats>>,
}

struct Tell(Mutex<mpsc::Sender<Addresses>>);

impl ServeObserver for Tell {
    fn bound(&self, addresses: Addresses) {
        let tell = self.0.lock().expect("nobody panics");
        tell.send(addresses).expect("the test waits for it");
    }

    fn progress(&self, _stats: &Stats) {}
}

impl Serving {
    /// On a free pair of ports.
    pub fn start() -> Self {
        let (tell, told) = mpsc::channel();
        let stop = Stop::new();
        let stopping = stop.clone();
        let thread = std::thread::spawn(move || {
            let bind = "127.0.0.1:0".parse().expect("an address");
            serve(bind, &Tell(Mutex::new(tell)), &stopping).expect("loopback can be served")
        });
        let addresses = told.recv().expect("it binds");
        Self {
            addresses,
            stop,
            thread: Some(thread),
        }
    }

    /// Ends it; what it did.
    pub fn end(mut self) -> Stats {
        self.stop.raise();
        let thread = self.thread.take().expect("it ends once");
        thread.join().expect("nothing makes it panic")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.raise();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
