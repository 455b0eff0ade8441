//! One activity on a thread of its own, and the table of those that there are.
//!
//! A handle is a number, never an address: one that is no longer known is refused, not followed.
//! A panic of the thread ends the activity as failed and nothing else.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use pocketsim_probe_core::host::{Extras, HostExtras};
use pocketsim_probe_core::run;
use pocketsim_probe_core::stop::Stop;
use pocketsim_probe_core::trade::{self, Outcome, TradeError};

use crate::request::{Dial, Fault, Listen, Request, Run};
use crate::status::{Board, Status};

/// One activity.
#[derive(Clone, Debug)]
pub struct Session {
    board: Board,
    stop: Stop,
    extras: Arc<Mutex<HostExtras>>,
    report: Arc<Mutex<Option<String>>>,
}

impl Session {
    /// Begin an activity.
    ///
    /// # Errors
    /// When the system has no thread left.
    ///
    /// # Panics
    /// If that is what the request asks for.
    pub fn start(request: Request) -> std::io::Result<Self> {
        if request == Request::Fault(Fault { on_thread: false }) {
            panic!("{FAULT}");
        }
        let session = Self {
            board: Board::new(request.activity()),
            stop: Stop::new(),
            extras: Arc::default(),
            report: Arc::default(),
        };
        let own = session.clone();
        thread::Builder::new()
            .name("probe".into())
            .spawn(move || own.live(request))?;
        Ok(session)
    }

    /// How far it is.
    pub fn status(&self) -> Status {
        self.board.status()
    }

    /// What Java knows now.
    pub fn observe(&self, extras: HostExtras) {
        *lock(&self.extras) = extras;
    }

    /// Ask it to end; it does after the sample it is at.
    pub fn stop(&self) {
        self.stop.raise();
        self.board.stopping();
    }

    /// What came of it, as JSON; nothing while it runs. A trade that failed has what it has.
    pub fn report(&self) -> Option<String> {
        lock(&self.report).clone()
    }

    fn live(&self, request: Request) {
        match catch_unwind(AssertUnwindSafe(|| self.perform(request))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.board.failed(error),
            Err(panic) => self.board.failed(message(&*panic)),
        }
    }

    fn perform(&self, request: Request) -> Result<(), String> {
        match request {
            Request::Run(run) => self.run(&run),
            Request::Listen(listen) => self.listen(&listen),
            Request::Dial(dial) => self.dial(&dial),
            Request::Fault(_) => panic!("{FAULT}"),
        }
    }

    fn run(&self, run: &Run) -> Result<(), String> {
        self.observe(run.extras.clone());
        let extras = self.extras.clone();
        let options = run::Options {
            extras: Extras::live(move || lock(&extras).clone()),
            ..run.options()
        };
        let report = run::run(&options, &self.board, &self.stop);
        let report = report.map_err(|reason| reason.to_string())?;
        self.keep(report.to_json());
        self.board.finished(Some(report.spoiled));
        Ok(())
    }

    fn listen(&self, listen: &Listen) -> Result<(), String> {
        self.traded(trade::listen(&listen.options(), &self.board, &self.stop))
    }

    fn dial(&self, dial: &Dial) -> Result<(), String> {
        self.traded(trade::dial(&dial.options()?, &self.board, &self.stop))
    }

    fn traded(&self, outcome: Result<Outcome, TradeError>) -> Result<(), String> {
        let outcome = outcome.map_err(|error| error.to_string())?;
        self.keep(serde_json::to_string(&outcome).expect("numbers and texts"));
        if let Some(error) = outcome.error {
            return Err(error);
        }
        self.board.finished(None);
        Ok(())
    }

    /// Before the stage says that it is finished, as the app then takes it.
    fn keep(&self, report: String) {
        *lock(&self.report) = Some(report);
    }
}

/// The activities that there are, by handle.
#[derive(Debug)]
pub struct Sessions(Mutex<Table>);

#[derive(Debug)]
struct Table {
    by_handle: BTreeMap<i64, Session>,
    last: i64,
}

impl Sessions {
    /// None.
    pub const fn new() -> Self {
        Self(Mutex::new(Table {
            by_handle: BTreeMap::new(),
            last: 0,
        }))
    }

    /// Keep one; its handle is positive and never given twice.
    pub fn add(&self, session: Session) -> i64 {
        let mut table = lock(&self.0);
        table.last += 1;
        let handle = table.last;
        table.by_handle.insert(handle, session);
        handle
    }

    /// The one of a handle.
    pub fn get(&self, handle: i64) -> Option<Session> {
        lock(&self.0).by_handle.get(&handle).cloned()
    }

    /// Forget one. If it still runs it ends soon, and nobody waits for it.
    pub fn remove(&self, handle: i64) -> Option<()> {
        let session = lock(&self.0).by_handle.remove(&handle)?;
        session.stop();
        Some(())
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new()
    }
}

/// What a panic said.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a fault of the probe: {}", text.unwrap_or("no reason"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const FAULT: &str = "asked to panic";
