//! What a protocol of somebody's own answers: Python's objects, checked and turned into outputs.
//!
//! What deliberately does not live here: who is asked what, and what becomes of a mistake.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use pocketsim_protocols::contract::{
    AppRequest, Event, EventKind, MessageId, NodeId, Operation, Output, Outputs, Payload,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::record::trace::Columns;

/// Bytes of a custom protocol on their way.
#[derive(Clone)]
pub(crate) struct Parcel {
    about: MessageId,
    bytes: Rc<Py<PyBytes>>,
    size_bytes: u32,
    serial: u64,
}

impl Parcel {
    /// The bytes.
    pub(crate) fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.bytes.bind(py).clone()
    }
}

impl Payload for Parcel {
    fn wire_bytes(&self) -> u32 {
        self.size_bytes
    }

    fn message_id(&self) -> MessageId {
        self.about
    }

    fn serial(&self) -> u64 {
        self.serial
    }
}

/// The classes of outputs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Kinds {
    work: Py<PyAny>,
    send: Py<PyAny>,
    observe: Py<PyAny>,
    deliver: Py<PyAny>,
}

impl Kinds {
    /// The same classes.
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            work: self.work.clone_ref(py),
            send: self.send.clone_ref(py),
            observe: self.observe.clone_ref(py),
            deliver: self.deliver.clone_ref(py),
        }
    }
}

/// What is known in a run, by which answers are checked.
pub(crate) struct Known {
    pub(crate) kinds: Kinds,
    /// Numbers of operations by name: everybody's, then the scenario's own.
    pub(crate) operations: HashMap<String, u32>,
    /// How many transactions each phone has proposed.
    pub(crate) proposed: RefCell<Vec<u32>>,
    /// How many messages all have sent.
    pub(crate) sent: Cell<u64>,
    /// Names of what was observed, in the order they were met.
    pub(crate) observed: RefCell<Vec<String>>,
}

impl Known {
    fn next_serial(&self) -> u64 {
        self.sent.set(self.sent.get() + 1);
        self.sent.get()
    }

    /// The number of the next transaction of `node`.
    pub(crate) fn propose(&self, node: NodeId) -> MessageId {
        let next = &mut self.proposed.borrow_mut()[node.0 as usize];
        *next += 1;
        MessageId::new(node, *next - 1)
    }

    fn number(&self, name: &str) -> PyResult<u32> {
        if let Some(&number) = self.operations.get(name) {
            return Ok(number);
        }
        // Python adds the nearest name, which it knows how to find.
        Err(PyValueError::new_err(format!("{UNKNOWN_OPERATION}{name}")))
    }

    fn observed(&self, name: &str) -> PyResult<u32> {
        let mut names = self.observed.borrow_mut();
        if let Some(at) = names.iter().position(|known| known == name) {
            return Ok(at as u32);
        }
        if EventKind::ALL.iter().any(|kind| kind.name() == name) {
            let text = format!("Observe: {name} is a kind of event that every run has");
            return Err(PyValueError::new_err(text));
        }
        if name.is_empty() || names.len() == OBSERVED_MAX {
            let text = format!("Observe: {name:?}; a run has at most {OBSERVED_MAX} names");
            return Err(PyValueError::new_err(text));
        }
        names.push(name.to_owned());
        Ok(names.len() as u32 - 1)
    }
}

/// The answer to something that was asked: of which phone, about which transaction, from whom.
pub(crate) struct Answer {
    pub(crate) node: u32,
    pub(crate) about: MessageId,
    pub(crate) from: NodeId,
}

type Out = Outputs<Parcel, AppRequest<Parcel>, ()>;

impl Answer {
    /// Checks the outputs in `answer`, anything that can be gone through, and adds them to `out`.
    pub(crate) fn collect(
        &self,
        known: &Known,
        answer: &Bound<'_, PyAny>,
        out: &mut Out,
    ) -> PyResult<()> {
        if answer.is_none() {
            return Ok(());
        }
        let Ok(outputs) = answer.try_iter() else {
            let text = "must yield outputs, or return a list of them, not ";
            return Err(wrong(text, answer));
        };
        for (count, output) in outputs.enumerate() {
            if count == OUTPUTS_MAX {
                let text = format!("more than {OUTPUTS_MAX} outputs of one call");
                return Err(PyValueError::new_err(text));
            }
            self.take(known, &output?, out)?;
        }
        Ok(())
    }

    fn take(&self, known: &Known, output: &Bound<'_, PyAny>, out: &mut Out) -> PyResult<()> {
        let kind = output.get_type_ptr().cast();
        if kind == known.kinds.send.as_ptr() {
            out.push(self.send(known, output)?);
        } else if kind == known.kinds.work.as_ptr() {
            out.push(work(known, output)?);
        } else if kind == known.kinds.deliver.as_ptr() {
            out.push(self.deliver(known, output)?);
        } else if kind == known.kinds.observe.as_ptr() {
            out.push(self.observe(known, output)?);
        } else {
            let text = "an output must be Work, Send, Observe or Deliver, not ";
            return Err(wrong(text, output));
        }
        Ok(())
    }

    fn send(&self, known: &Known, output: &Bound<'_, PyAny>) -> PyResult<Made> {
        let py = output.py();
        let phones = known.proposed.borrow().len() as u32;
        let to = output.getattr(intern!(py, "to"))?;
        let to = match to.extract() {
            Ok(to) if to < phones && to != self.node => NodeId(to),
            _ => {
                let text = format!("Send.to: another phone, of 0 to {}, not ", phones - 1);
                return Err(wrong(&text, &to));
            }
        };
        let (bytes, size_bytes) = bytes(output.getattr(intern!(py, "message"))?, "Send.message")?;
        let message = Parcel {
            about: self.about(known, output)?,
            bytes: Rc::new(bytes.unbind()),
            size_bytes,
            serial: known.next_serial(),
        };
        Ok(Output::Send { to, message })
    }

    fn deliver(&self, known: &Known, output: &Bound<'_, PyAny>) -> PyResult<Made> {
        let value = output.getattr(intern!(output.py(), "value"))?;
        let (_, size_bytes) = bytes(value, "Deliver.value")?;
        let about = self.about(known, output)?;
        let event = Event::new(EventKind::Deliver, about, self.from, size_bytes);
        Ok(Output::Observe(event))
    }

    fn observe(&self, known: &Known, output: &Bound<'_, PyAny>) -> PyResult<Made> {
        let py = output.py();
        let name = output.getattr(intern!(py, "name"))?;
        let Ok(text) = name.cast::<PyString>() else {
            return Err(wrong("Observe.name: text, not ", &name));
        };
        let number = known.observed(&text.to_cow()?)?;
        let value = output.getattr(intern!(py, "value"))?;
        let Some(value) = value.extract::<i32>().ok().filter(|value| *value >= 0) else {
            return Err(wrong(
                "Observe.value: a whole number below 2^31, not ",
                &value,
            ));
        };
        let about = self.about(known, output)?;
        let event = Event::new(EventKind::Observe, about, NodeId(number), value as u32);
        Ok(Output::Observe(event))
    }

    /// The transaction that an output names, or else that which the object was asked about.
    fn about(&self, known: &Known, output: &Bound<'_, PyAny>) -> PyResult<MessageId> {
        let named = output.getattr(intern!(output.py(), "transaction"))?;
        if named.is_none() {
            return Ok(self.about);
        }
        let proposed = known.proposed.borrow();
        let is_known = |id: &MessageId| {
            let count = proposed.get(id.origin().0 as usize);
            count.is_some_and(|&count| id.sequence() < count)
        };
        let found = named.extract().ok().map(MessageId).filter(is_known);
        found.ok_or_else(|| wrong("transaction: that of a request, not ", &named))
    }
}

type Made = Output<Parcel, AppRequest<Parcel>, ()>;

fn work(known: &Known, output: &Bound<'_, PyAny>) -> PyResult<Made> {
    let py = output.py();
    let name = output.getattr(intern!(py, "operation"))?;
    let Ok(text) = name.cast::<PyString>() else {
        return Err(wrong("Work.operation: text, not ", &name));
    };
    let number = known.number(&text.to_cow()?)?;
    let given = output.getattr(intern!(py, "bytes"))?;
    let Ok(bytes) = given.extract() else {
        return Err(wrong("Work.bytes: a whole number below 2^32, not ", &given));
    };
    Ok(match Operation::ALL.get(number as usize) {
        Some(&operation) => Output::Work { operation, bytes },
        None => Output::OwnWork {
            number: number - Operation::ALL.len() as u32,
            bytes,
        },
    })
}

fn bytes<'py>(given: Bound<'py, PyAny>, what: &str) -> PyResult<(Bound<'py, PyBytes>, u32)> {
    match given.cast_into::<PyBytes>() {
        Ok(bytes) => {
            let size_bytes = bytes.as_bytes().len() as u32;
            Ok((bytes, size_bytes))
        }
        Err(other) => Err(wrong(&format!("{what}: bytes, not "), &other.into_inner())),
    }
}

/// What is said of a value that is not what it must be.
fn wrong(text: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let shown = given
        .repr()
        .map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
    let kind = given.get_type();
    let kind = kind
        .name()
        .map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{text}{kind} {shown}"))
}

/// Gives rows of what was observed the kind of its name, which they have for a peer so far.
pub(crate) fn rename_observed(columns: &mut Columns) {
    for row in 0..columns.kind.len() {
        if columns.kind[row] == EventKind::Observe as u8 {
            columns.kind[row] = EventKind::ALL.len() as u8 + columns.peer[row] as u8;
            columns.peer[row] = NOBODY;
        }
    }
}

/// Adds a row after the first delivery of each transaction: it is stored then.
///
/// At the end, since a phone that goes off may never make the delivery that was asked for first.
pub(crate) fn store_first(columns: &mut Columns) {
    let mut met = HashSet::new();
    let given = std::mem::take(columns);
    for row in 0..given.kind.len() {
        columns.copy_row(&given, row, given.kind[row]);
        let is_delivery = given.kind[row] == EventKind::Deliver as u8;
        let is_proposal = MessageId(given.message[row]).sequence() != u32::MAX;
        if is_delivery && is_proposal && met.insert(given.message[row]) {
            columns.copy_row(&given, row, EventKind::Store as u8);
        }
    }
}

/// How the mistake of an operation that nobody knows begins; Python knows it, too.
const UNKNOWN_OPERATION: &str = "unknown operation ";
// An answer that goes on for ever takes a tenth of a second and 10 MB until it is refused.
const OUTPUTS_MAX: usize = 100_000;
// What is left of the byte that a row has for its kind.
const OBSERVED_MAX: usize = 200;
const NOBODY: u32 = u32::MAX; // reads as no peer
