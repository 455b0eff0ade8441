//! A protocol of somebody's own, written in Rust in a crate of its own: a machine for each phone.
//!
//! Such a crate makes a Python module around [`run`], which `pocketsim` loads instead of the
//! engine's own; sim/template is one. What machines answer is checked (`checked.rs`). What
//! deliberately does not live here: how the module is found and loaded
//! (`pocketsim.sim.run.custom_library`).

use std::cell::RefCell;
use std::rc::Rc;

use pocketsim_protocols::contract::{Application, NodeId};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::base::progress::Progress;
use crate::bindings::checked::{caught, remember_panics, Checked, Shared};
use crate::bindings::custom_outputs::{rename_observed, store_first};
use crate::bindings::custom_phone::{Options, Phone};
use crate::bindings::custom_policy::PolicyCalls;
use crate::bindings::custom_protocol::governed;
use crate::bindings::python;
use crate::plan::Plan;
use crate::run::{self, Hooks, RunResult};

/// What Python hands over: what the scenario says beside the plan.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FromPython {
    options: Options,
    /// By phone; none where the transport has no policy.
    policies: Vec<PolicyCalls>,
    /// What is raised of a policy's failure.
    failure: Py<PyAny>,
}

/// Runs `plan` with a machine that `make` makes for each phone, as the module's `run`.
///
/// `observed` are the names of rows of kind [`EventKind::Observe`], by the number that such an
/// event has for its peer. Which other rows a machine may write, docs/own_protocol.md says.
///
/// [`EventKind::Observe`]: pocketsim_protocols::contract::EventKind::Observe
///
/// # Errors
/// ValueError, with the simulated time and the phone, for what a machine does wrong or what `make`
/// refuses; for an option that `make` never asked for.
pub fn run<'py, A: Application>(
    py: Python<'py>,
    plan: Plan,
    progress: Option<Py<PyAny>>,
    own: FromPython,
    observed: &[&str],
    make: impl FnMut(&Phone<'_>) -> Result<A, String>,
) -> PyResult<Bound<'py, PyDict>> {
    let progress = progress.map_or_else(Progress::default, python::hook);
    let (policies, failure) = (own.policies, own.failure);
    let ran = governed(py, policies, &failure, progress, |hooks, _| {
        simulate(plan, hooks, &own.options, observed, make)
    });
    python::to_dict(py, &ran?)
}

fn simulate<A: Application>(
    plan: Plan,
    hooks: Hooks,
    options: &Options,
    observed: &[&str],
    make: impl FnMut(&Phone<'_>) -> Result<A, String>,
) -> Result<RunResult, String> {
    remember_panics();
    let made = machines(&plan, options, make)?;
    let own = plan.protocol.own_operations.len();
    let brake = hooks.progress.brake();
    let shared = Rc::new(Shared::new(made.len(), own, observed.len(), brake));
    let mut machines = made.into_iter();
    let ran = run::of_applications(plan, hooks, |node| {
        let machine = machines.next().expect("a machine for each phone");
        Checked::new(node, machine, shared.clone())
    });
    if let Some(failed) = shared.failure() {
        return Err(failed);
    }
    let mut result = ran?;
    rename_observed(&mut result.trace.columns);
    store_first(&mut result.trace.columns);
    result.own_kinds = observed.iter().map(|&name| name.to_owned()).collect();
    Ok(result)
}

fn machines<A>(
    plan: &Plan,
    options: &Options,
    mut make: impl FnMut(&Phone<'_>) -> Result<A, String>,
) -> Result<Vec<A>, String> {
    let (phones, asked) = (plan.phones.profile.len() as u32, RefCell::default());
    let made = (0..phones).map(|node| {
        let phone = Phone {
            node: NodeId(node),
            phones,
            seed: plan.seed,
            operations: &plan.protocol.own_operations,
            options,
            asked: &asked,
        };
        caught(|| make(&phone)).and_then(|made| made)
    });
    let made = made.collect::<Result<_, _>>()?;
    let asked = asked.into_inner();
    match options.0.keys().find(|name| !asked.contains(*name)) {
        Some(name) => Err(format!("protocol.options.{name}: nobody asks for it")),
        None => Ok(made),
    }
}
