//! The Python module `pocketsim.sim._engine`.

use pocketsim_protocols::contract::{EventKind, Operation, Reason};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::base::progress::Progress;
use crate::bindings::custom_protocol::{self, Given};
use crate::families::final_blocks::FinalBlocks;
use crate::families::final_tokens::FinalTokens;
use crate::plan::columns::{floats, numbers};
use crate::plan::meetings::{Meeting, Waypoints};
use crate::plan::Plan;
use crate::record::timeline::Timeline;
use crate::record::trace::{Columns, Tally};
use crate::resources::queue_delay::QueueDelays;
use crate::resources::simgrid::platform::Platform;
use crate::resources::simgrid::MODEL_OPTIONS;
use crate::run::{Hooks, RunResult};

/// Drives protocol machines. With flows it loads SimGrid, once in a process, for good.
#[pymodule]
mod _engine {
    use super::{
        custom_protocol, floats, hook, meetings_to_bytes, numbers, to_dict, Given, Hooks,
        Operation, Plan, Platform, Progress, Waypoints, MODEL_OPTIONS,
    };
    use pocketsim_protocols::transport::eva::EvaConfig;
    use pocketsim_protocols::transport::TransportConfig;
    use pyo3::prelude::*;
    use pyo3::types::{PyBytes, PyDict};
    use schemars::schema_for;

    /// Runs one plan, a dictionary of numbers and arrays (see `pocketsim.sim.plan.plan`).
    ///
    /// Returns `columns` (little-endian bytes per column), `event_kinds`,
    /// `reasons`, `counters`, `cpu_s`, `energy_j`, `energy_by_part_j`, `battery`, `waits` by direction, `reach`,
    /// `kept_cents`, `clock_s`, `final_index`, `engine`; `tokens`: what phones have at the end, with the authority's key; `blocks` that
    /// they have stored; `timeline`: work and datagrams; `ledger`: what rows that were not kept came to.
    /// The last four are `None` unless asked for.
    ///
    /// `progress`, if given, is called with the share of the duration that is done, in
    /// hundredths, and the number of events so far; what it raises is printed and goes no further.
    /// `own` are the objects of a custom protocol, as `pocketsim.sim.run.custom_objects` makes them.
    ///
    /// Raises ValueError for a plan that names an unknown kind, and `own["failure"]` for a
    /// failure of one of its objects; anything worse ends the process.
    #[pyfunction]
    #[pyo3(signature = (plan, progress=None, own=None))]
    fn run(
        py: Python<'_>,
        plan: Plan,
        progress: Option<Py<PyAny>>,
        own: Option<Given>,
    ) -> PyResult<Bound<'_, PyDict>> {
        let progress = progress.map_or_else(Progress::default, hook);
        let result = match own {
            Some(own) => custom_protocol::run(py, plan, own, progress)?,
            None => py
                .detach(|| {
                    let hooks = Hooks {
                        progress,
                        ..Hooks::default()
                    };
                    crate::run::run(plan, hooks)
                })
                .map_err(pyo3::exceptions::PyValueError::new_err)?,
        };
        to_dict(py, &result)
    }

    /// Serialised sizes in bytes of the blocks that a proposer stores.
    ///
    /// Two agents trade `count` blocks in lock-step, except that the first
    /// `outstanding` further proposals are made before the first is stored.
    #[pyfunction]
    fn replay_chain(
        payload_bytes: u32,
        first_index: u64,
        count: u32,
        outstanding: u32,
    ) -> Vec<u32> {
        pocketsim_protocols::replay::replay_chain(payload_bytes, first_index, count, outstanding)
    }

    /// What SimGrid, loaded by `library`, says of the platform in the file at `path`.
    ///
    /// Returns the names of its hosts and of its hosts and routers, sorted, and those of netpoints:
    /// `named` ones that there are, and `with_hosts` all hosts. Then the routes from each of these to
    /// each, a row for each sender: `(latency_s, bytes_per_s, is_shared, has_wifi)`, None where there is
    /// no route. Raises ValueError for a file that is no platform, and for too many netpoints; of some
    /// mistakes SimGrid says why on stderr, and the process ends.
    #[pyfunction]
    #[expect(clippy::type_complexity, reason = "it is Python's")]
    fn platform_routes(
        library: &str,
        path: &str,
        named: Vec<String>,
        with_hosts: bool,
    ) -> PyResult<(
        Vec<String>,
        Vec<String>,
        Vec<String>,
        Vec<Option<(f64, f64, bool, bool)>>,
    )> {
        let found = Platform::ask(library, path, &named, with_hosts)
            .map_err(pyo3::exceptions::PyValueError::new_err)?;
        let ways = found.ways.into_iter().map(|way| {
            let way = way?;
            let shared = (way.is_shared(), way.has_wifi());
            Some((way.latency_s, way.bytes_per_s, shared.0, shared.1))
        });
        let ways = ways.collect();
        Ok((found.hosts, found.netpoints, found.between, ways))
    }

    /// When phones that walk are at most `range_m` apart, within `duration_s`.
    ///
    /// `phone`, an array of `uint32`, `time_s`, `x_m` and `y_m`, of doubles, are waypoints, sorted by
    /// phone and then by time: a phone goes straight and evenly from one to the next and stays at its
    /// last. Phones are numbered from 0, and their first waypoints are at 0 s or before. Returns the two
    /// phones, begin and end of each meeting as little-endian bytes, in order of begin and then of the
    /// phones, the smaller number first. Raises ValueError for columns that make no sense.
    #[pyfunction]
    fn meetings<'py>(
        py: Python<'py>,
        columns: [Bound<'py, PyAny>; 4],
        range_m: f64,
        duration_s: f64,
    ) -> PyResult<[Bound<'py, PyBytes>; 4]> {
        let [phone, time_s, x_m, y_m] = &columns;
        let waypoints = Waypoints {
            phone: numbers(phone)?,
            time_s: floats(time_s)?,
            x_m: floats(x_m)?,
            y_m: floats(y_m)?,
        };
        let found = py.detach(|| crate::plan::meetings::meetings(&waypoints, range_m, duration_s));
        let found = found.map_err(pyo3::exceptions::PyValueError::new_err)?;
        Ok(meetings_to_bytes(py, &found))
    }

    /// JSON Schemas of the options of transports and of EVA: `TransportConfig` and `EvaConfig`.
    #[pyfunction]
    fn option_schemas() -> [String; 2] {
        [schema_for!(TransportConfig), schema_for!(EvaConfig)]
            .map(|schema| schema.to_value().to_string())
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let operations: Vec<&str> = Operation::ALL
            .iter()
            .map(|operation| operation.name())
            .collect();
        module.add("OPERATIONS", operations)?;
        module.add("MODEL_OPTIONS", MODEL_OPTIONS.to_vec())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Progress that is told to a function of Python's.
pub(crate) fn hook(call: Py<PyAny>) -> Progress {
    Progress::to(move |share, events| {
        Python::attach(|py| {
            if let Err(error) = call.call1(py, (share, events)) {
                error.write_unraisable(py, Some(call.bind(py)));
            }
        });
    })
}

/// What a run leaves behind, as `run` returns it.
pub(crate) fn to_dict<'py>(py: Python<'py>, result: &RunResult) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let counters = PyDict::new(py);
    let final_state = &result.final_state;
    let tallies = result.trace.counters();
    for (name, value) in tallies.iter().chain(&final_state.counters) {
        counters.set_item(name, value)?;
    }
    let cpu_s = PyDict::new(py);
    for (name, value) in result.trace.cpu_s() {
        cpu_s.set_item(name, value)?;
    }
    let named = EventKind::ALL.iter().map(|kind| kind.name());
    let kinds: Vec<&str> = named
        .chain(result.own_kinds.iter().map(String::as_str))
        .collect();
    // A table keeps all names of a column, whether or not they are in it: here the first of all, up to
    // those that only some runs can have.
    let moves = tallies.contains_key(Tally::NetworkChanges.name());
    let known = match (moves, result.reach.is_some()) {
        (true, _) => Reason::ALL.len(),
        (false, true) => Reason::Moved as usize,
        (false, false) => Reason::Unreachable as usize,
    };
    let reasons = Reason::ALL[..known].iter().map(|reason| reason.name());
    let reasons: Vec<&str> = reasons.collect();
    dict.set_item("columns", columns_to_dict(py, &result.trace.columns)?)?;
    dict.set_item("event_kinds", kinds)?;
    dict.set_item("reasons", reasons)?;
    dict.set_item("counters", counters)?;
    dict.set_item("cpu_s", cpu_s)?;
    dict.set_item("phone_cpu_s", result.trace.phone_cpu_s)?;
    dict.set_item("energy_j", result.energy_j.clone())?;
    dict.set_item("energy_by_part_j", result.energy_by_part_j.clone())?;
    dict.set_item("battery", result.battery.clone())?;
    dict.set_item("waits", waits_to_dict(py, result.waits.as_ref())?)?;
    dict.set_item("reach", result.reach.clone())?;
    dict.set_item("clock_s", result.clock_s)?;
    dict.set_item("wall_s", result.wall_s)?;
    dict.set_item("final_index", final_state.final_index.clone())?;
    dict.set_item("kept_cents", final_state.kept_cents.clone())?;
    dict.set_item("engine", BUILD)?;
    let tokens = final_state.tokens.as_ref();
    let tokens = tokens.map(|of| tokens_to_dict(py, of)).transpose()?;
    dict.set_item("tokens", tokens)?;
    let blocks = final_state.blocks.as_ref();
    let blocks = blocks.map(|of| blocks_to_dict(py, of)).transpose()?;
    dict.set_item("blocks", blocks)?;
    let timeline = result.trace.timeline.as_ref();
    let timeline = timeline.map(|of| timeline_to_dict(py, of, result.trace.operations().collect()));
    let timeline = timeline.transpose()?;
    dict.set_item("timeline", timeline)?;
    let aggregates = result.trace.aggregates.as_ref();
    dict.set_item("ledger", aggregates.map(|of| of.summary()))?;
    Ok(dict)
}

/// The columns of a trace, each as little-endian bytes.
fn columns_to_dict<'py>(py: Python<'py>, columns: &Columns) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let set = |name: &str, bytes: Vec<u8>| dict.set_item(name, PyBytes::new(py, &bytes));
    set("time_s", bytes(&columns.time_s, f64::to_le_bytes))?;
    set("node", bytes(&columns.node, u32::to_le_bytes))?;
    set("kind", columns.kind.clone())?;
    set("message", bytes(&columns.message, u64::to_le_bytes))?;
    set("peer", bytes(&columns.peer, u32::to_le_bytes))?;
    set("size_bytes", bytes(&columns.size_bytes, u32::to_le_bytes))?;
    set("reason", columns.reason.clone())?;
    set("logged", columns.logged.clone())?;
    Ok(dict)
}

/// Meetings as columns of little-endian bytes.
fn meetings_to_bytes<'py>(py: Python<'py>, found: &[Meeting]) -> [Bound<'py, PyBytes>; 4] {
    let phones =
        |of: fn(&Meeting) -> u32| found.iter().flat_map(|one| of(one).to_le_bytes()).collect();
    let times =
        |of: fn(&Meeting) -> f64| found.iter().flat_map(|one| of(one).to_le_bytes()).collect();
    let columns: [Vec<u8>; 4] = [
        phones(|one| one.low),
        phones(|one| one.high),
        times(|one| one.begin_s),
        times(|one| one.end_s),
    ];
    columns.map(|column| PyBytes::new(py, &column))
}

fn bytes<T: Copy, const N: usize>(values: &[T], write: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| write(value)).collect()
}

/// How long datagrams waited for radios, by direction; empty where there are no queues.
fn waits_to_dict<'py>(
    py: Python<'py>,
    waits: Option<&QueueDelays>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let Some(waits) = waits else {
        return Ok(dict);
    };
    let directions = ["uplink", "downlink"].into_iter().zip(&waits.taken);
    for ((name, taken), refused) in directions.zip(waits.refused) {
        let of = PyDict::new(py);
        of.set_item("taken", taken.count())?;
        of.set_item("refused", refused)?;
        of.set_item("sum_s", taken.sum_s())?;
        of.set_item("p50_s", taken.quantile(0.5))?;
        of.set_item("p95_s", taken.quantile(0.95))?;
        dict.set_item(name, of)?;
    }
    Ok(dict)
}

fn tokens_to_dict<'py>(py: Python<'py>, tokens: &FinalTokens) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let states: Vec<&str> = tokens.standing.iter().map(|of| of.name()).collect();
    let contents = tokens.token.iter().map(|bytes| PyBytes::new(py, bytes));
    dict.set_item("authority", PyBytes::new(py, &tokens.authority.0))?;
    dict.set_item("node", tokens.node.clone())?;
    dict.set_item("state", states)?;
    dict.set_item("token", PyList::new(py, contents)?)?;
    Ok(dict)
}

fn blocks_to_dict<'py>(py: Python<'py>, blocks: &FinalBlocks) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let contents = blocks.block.iter().map(|block| PyBytes::new(py, block));
    dict.set_item("node", blocks.node.clone())?;
    dict.set_item("place", blocks.place.clone())?;
    dict.set_item("peer", blocks.peer.clone())?;
    dict.set_item("message", blocks.message.clone())?;
    dict.set_item("block", PyList::new(py, contents)?)?;
    Ok(dict)
}

/// The columns of a timeline, each as little-endian bytes.
fn timeline_to_dict<'py>(
    py: Python<'py>,
    timeline: &Timeline,
    operations: Vec<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let (dict, spans) = (PyDict::new(py), &timeline.spans);
    let set = |name: &str, bytes: Vec<u8>| dict.set_item(name, PyBytes::new(py, &bytes));
    set("begin_s", bytes(&spans.begin_s, f64::to_le_bytes))?;
    set("end_s", bytes(&spans.end_s, f64::to_le_bytes))?;
    set("node", bytes(&spans.node, u32::to_le_bytes))?;
    set("lane", bytes(&spans.lane, u32::to_le_bytes))?;
    set("operation", spans.operation.clone())?;
    set("size_bytes", bytes(&spans.size_bytes, u32::to_le_bytes))?;
    set("peer", bytes(&spans.peer, u32::to_le_bytes))?;
    set("message", bytes(&spans.message, u64::to_le_bytes))?;
    set("reason", spans.reason.clone())?;
    for (link, waits) in ["uplink", "downlink"].iter().zip([0, 1]) {
        let [from_s, until_s] = [&spans.from_s[waits], &spans.until_s[waits]];
        set(&format!("{link}_from_s"), bytes(from_s, f64::to_le_bytes))?;
        set(&format!("{link}_until_s"), bytes(until_s, f64::to_le_bytes))?;
    }
    dict.set_item("operations", operations)?;
    Ok(dict)
}

/// Which engine this is: `pocketsim` looks for it in a library of somebody's own, which has to be
/// linked to the same (`pocketsim.sim.scenario.custom_library`).
const BUILD: &str = concat!(
    "pocketsim engine ",
    env!("CARGO_PKG_VERSION"),
    " of sources ",
    env!("POCKETSIM_SOURCES"),
    ";"
);
