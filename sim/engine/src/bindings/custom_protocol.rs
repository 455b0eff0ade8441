//! A protocol of somebody's own, written in Python: an object for each phone, as an application.
//!
//! The interpreter stays attached for the whole run, on the engine's one thread. What an object
//! answers is checked here, output by output; the first that is wrong, or whatever it raises, ends
//! the run. What deliberately does not live here: how a file becomes objects, and what is said of
//! a failure (`pocketsim.sim.run.custom_objects`).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use pocketsim_protocols::contract::{
    AppRequest, Application, Event, EventKind, Machine, MessageId, NodeId, Operation, Output,
    OutputsOf, Payload, Seconds,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::base::progress::Progress;
use crate::bindings::custom_failures::{Failed, Failures};
use crate::bindings::custom_outputs::{rename_observed, store_first, Answer, Kinds, Known, Parcel};
use crate::bindings::custom_policy::{CustomPolicy, PolicyCalls};
use crate::phone::policy::Policy;
use crate::plan::Plan;
use crate::run::{self, Hooks, RunResult};

/// What Python hands over: the methods of each phone's object, and the classes that they use.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given {
    /// By phone; none where the protocol is one of the engine's.
    calls: Vec<Calls>,
    /// By phone; none where the transport has no policy.
    policies: Vec<PolicyCalls>,
    /// The classes of outputs.
    kinds: Kinds,
    /// What a command asks for: made of peer, payload in bytes and transaction.
    request: Py<PyAny>,
    /// What is raised of a failure: made of method, phone, time in seconds and answer.
    failure: Py<PyAny>,
}

/// The bound methods of one object; those that may be left out are none where they are.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Calls {
    receive: Py<PyAny>,
    command: Py<PyAny>,
    undelivered: Option<Py<PyAny>>,
    handle_timeout: Option<Py<PyAny>>,
    next_timeout: Option<Py<PyAny>>,
}

/// Runs `plan` with the objects that are `given`.
///
/// # Errors
/// What the failure of an object is made into; ValueError for what the plan names and nobody knows.
pub(crate) fn run(
    py: Python<'_>,
    plan: Plan,
    mut given: Given,
    progress: Progress,
) -> PyResult<RunResult> {
    let (policies, failure) = (
        std::mem::take(&mut given.policies),
        given.failure.clone_ref(py),
    );
    governed(py, policies, &failure, progress, |hooks, failures| {
        if given.calls.is_empty() {
            run::run(plan, hooks)
        } else {
            of_objects(py, plan, given, hooks, failures)
        }
    })
}

/// Does what runs a plan, with the policies of phones, if there are any.
///
/// # Errors
/// As [`run`].
pub(crate) fn governed(
    py: Python<'_>,
    calls: Vec<PolicyCalls>,
    failure: &Py<PyAny>,
    progress: Progress,
    what: impl FnOnce(Hooks, &Rc<Failures>) -> Result<RunResult, String>,
) -> PyResult<RunResult> {
    let failures = Rc::new(Failures::new(progress.brake()));
    let policy = (!calls.is_empty()).then(|| {
        let failures = failures.clone();
        Box::new(CustomPolicy::new(calls, failures)) as Box<dyn Policy>
    });
    let hooks = Hooks {
        progress,
        policy,
        ..Hooks::default()
    };
    let ran = what(hooks, &failures);
    match failures.take() {
        None => ran.map_err(PyValueError::new_err),
        Some(failed) => {
            let failed_at = (failed.call, failed.phone, failed.time_s, failed.answer);
            let error = PyErr::from_value(failure.bind(py).call1(failed_at)?);
            error.set_cause(py, Some(failed.error));
            Err(error)
        }
    }
}

fn of_objects(
    py: Python<'_>,
    plan: Plan,
    given: Given,
    hooks: Hooks,
    failures: &Rc<Failures>,
) -> Result<RunResult, String> {
    let shared = Rc::new(Shared::new(&plan, &given, failures.clone(), py));
    let mut calls = given.calls.into_iter();
    let make = |node| {
        let calls = calls.next().expect("an object for each phone");
        CustomProtocol::new(node, calls, shared.clone())
    };
    let mut result = run::of_applications(plan, hooks, make)?;
    rename_observed(&mut result.trace.columns);
    store_first(&mut result.trace.columns);
    result.own_kinds = shared.known.observed.take();
    Ok(result)
}

/// What all objects of a run have in common.
struct Shared {
    known: Known,
    request: Py<PyAny>,
    failures: Rc<Failures>,
}

impl Shared {
    fn new(plan: &Plan, given: &Given, failures: Rc<Failures>, py: Python<'_>) -> Self {
        let named = Operation::ALL.iter().map(|known| known.name().to_owned());
        let all = named.chain(plan.protocol.own_operations.iter().cloned());
        Self {
            known: Known {
                kinds: given.kinds.clone_ref(py),
                operations: all.zip(0..).collect::<HashMap<_, _>>(),
                proposed: RefCell::new(vec![0; plan.phones.profile.len()]),
                sent: Cell::new(0),
                observed: RefCell::default(),
            },
            request: given.request.clone_ref(py),
            failures,
        }
    }
}

/// The object of one phone.
struct CustomProtocol {
    node: u32,
    calls: Calls,
    shared: Rc<Shared>,
    timeout_s: Option<Seconds>,
    /// When it was last asked something, and how often at that time.
    asked: (Seconds, u32),
}

/// What an object is asked.
#[derive(Clone, Copy)]
struct Asked {
    call: &'static str,
    now: Seconds,
    /// The transaction that it is about, and whom it is from.
    about: MessageId,
    from: NodeId,
}

impl CustomProtocol {
    fn new(node: u32, calls: Calls, shared: Rc<Shared>) -> Self {
        let mut made = Self {
            node,
            calls,
            shared,
            timeout_s: None,
            asked: (0.0, 0),
        };
        let first = made.asked("next_timeout", 0.0, made.nothing(), NodeId(node));
        made.try_to(first, &mut Vec::new(), |_, _, _| Ok(()));
        made
    }

    fn asked(&self, call: &'static str, now: Seconds, about: MessageId, from: NodeId) -> Asked {
        Asked {
            call,
            now,
            about,
            from,
        }
    }

    /// The number of what is about no transaction; no arrival ever gets it.
    fn nothing(&self) -> MessageId {
        MessageId::new(NodeId(self.node), u32::MAX)
    }

    /// Asks the object something and takes what it answers; whatever goes wrong ends the run.
    fn ask(
        &mut self,
        asked: Asked,
        out: &mut OutputsOf<Self>,
        call: impl for<'py> FnOnce(Python<'py>, &Self) -> PyResult<Bound<'py, PyAny>>,
    ) {
        self.try_to(asked, out, |py, own, (out, kept)| {
            own.count(asked.now)?;
            let answer = call(py, own)?;
            *kept = Some(answer.clone().unbind());
            let (node, about, from) = (own.node, asked.about, asked.from);
            let taken = Answer { node, about, from };
            taken.collect(&own.shared.known, &answer, out)
        });
    }

    fn try_to(
        &mut self,
        asked: Asked,
        out: &mut OutputsOf<Self>,
        what: impl FnOnce(Python<'_>, &mut Self, (&mut OutputsOf<Self>, &mut Kept)) -> PyResult<()>,
    ) {
        if self.shared.failures.any() {
            return out.clear();
        }
        Python::attach(|py| {
            let (mut answer, mut call) = (None, asked.call);
            let mut done = what(py, self, (out, &mut answer));
            if done.is_ok() {
                (answer, call) = (None, "next_timeout");
                done = self.look_at_timeout(py, asked.now);
            }
            if let Err(error) = done {
                out.clear();
                self.timeout_s = None;
                self.shared.failures.fail(Failed {
                    call,
                    phone: self.node,
                    time_s: asked.now,
                    answer,
                    error,
                });
            }
        });
    }

    /// Counts what it is asked at one time.
    fn count(&mut self, now: Seconds) -> PyResult<()> {
        self.asked = match self.asked {
            (time_s, count) if time_s == now => (now, count + 1),
            _ => (now, 1),
        };
        if self.asked.1 <= INPUTS_AT_ONCE_MAX {
            return Ok(());
        }
        let text = format!("was asked {INPUTS_AT_ONCE_MAX} times and time did not go on");
        Err(PyValueError::new_err(text))
    }

    /// Asks when it wants to be woken. A time that has passed is one that it waits for already.
    fn look_at_timeout(&mut self, py: Python<'_>, now: Seconds) -> PyResult<()> {
        let Some(call) = &self.calls.next_timeout else {
            return Ok(());
        };
        let answer = call.bind(py).call0()?;
        if answer.is_none() {
            self.timeout_s = None;
            return Ok(());
        }
        let Ok((time_s, _)) = answer.extract::<(Seconds, Bound<'_, PyString>)>() else {
            let text = format!("must be (time_s, reason) or None, not {}", answer.repr()?);
            return Err(PyTypeError::new_err(text));
        };
        if !time_s.is_finite() || (time_s < now && self.timeout_s != Some(time_s)) {
            let text = format!("{time_s} s is no time from now, {now} s, on");
            return Err(PyValueError::new_err(text));
        }
        self.timeout_s = Some(time_s);
        Ok(())
    }

    fn propose(&mut self, peer: NodeId, bytes: u32, now: Seconds, out: &mut OutputsOf<Self>) {
        let about = self.shared.known.propose(NodeId(self.node));
        let event = Event::new(EventKind::Send, about, peer, bytes);
        out.push(Output::Observe(event));
        let asked = self.asked("command", now, about, NodeId(self.node));
        self.ask(asked, out, |py, own| {
            let request = own
                .shared
                .request
                .bind(py)
                .call1((peer.0, bytes, about.0))?;
            own.calls.command.bind(py).call1((request, now))
        });
    }

    /// The transport has given up on a message.
    fn miss(
        &mut self,
        to: NodeId,
        parcel: &Parcel,
        lost: (Event, Seconds),
        out: &mut OutputsOf<Self>,
    ) {
        let (event, now) = lost;
        out.push(Output::Observe(event));
        if self.calls.undelivered.is_none() {
            return;
        }
        let asked = self.asked("undelivered", now, event.message, to);
        self.ask(asked, out, |py, own| {
            let reason = event.reason.map(|reason| reason.name());
            let call = own
                .calls
                .undelivered
                .as_ref()
                .expect("there is one")
                .bind(py);
            call.call1((to.0, parcel.bytes(py), reason, now))
        });
    }
}

/// What a method has answered.
type Kept = Option<Py<PyAny>>;

impl Machine for CustomProtocol {
    type Message = Parcel;
    type Request = AppRequest<Parcel>;
    type Value = ();

    fn receive(&mut self, from: NodeId, parcel: Parcel, now: Seconds, out: &mut OutputsOf<Self>) {
        let asked = self.asked("receive", now, parcel.message_id(), from);
        self.ask(asked, out, |py, own| {
            let receive = own.calls.receive.bind(py);
            receive.call1((from.0, parcel.bytes(py), now))
        });
    }

    fn command(&mut self, request: Self::Request, now: Seconds, out: &mut OutputsOf<Self>) {
        match request {
            AppRequest::Transact {
                peer,
                payload_bytes,
            } => self.propose(peer, payload_bytes, now, out),
            // The plan pays only where tokens run.
            AppRequest::Pay { .. } => unreachable!("paid without tokens"),
            AppRequest::Undelivered {
                to,
                payload,
                reason,
            } => {
                let (message, size) = (payload.message_id(), payload.wire_bytes());
                let event = Event::new(EventKind::Lose, message, to, size).because(reason);
                self.miss(to, &payload, (event, now), out);
            }
        }
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        self.timeout_s = None; // that it asked for is over, so it may not ask for it again
        let asked = self.asked("handle_timeout", now, self.nothing(), NodeId(self.node));
        self.ask(asked, out, |py, own| match &own.calls.handle_timeout {
            Some(call) => call.bind(py).call1((now,)),
            None => Err(PyTypeError::new_err("next_timeout without handle_timeout")),
        });
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        self.timeout_s.map(|time_s| (time_s, "own protocol"))
    }
}

impl Application for CustomProtocol {
    type Block = Parcel;
}

// Far more than arrives at one phone at one moment, even where links and work cost nothing.
const INPUTS_AT_ONCE_MAX: u32 = 100_000;
