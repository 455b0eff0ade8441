//! The Python module that pocketsim loads for `protocol.kind = "rust"`: `run`, with machines of
//! [`confirm`]. How to make one of your own is said in docs/own_protocol.md.

pub mod confirm;

// A test of the machine alone is linked to no Python, so it has no module either.
#[cfg(not(test))]
#[pyo3::pymodule]
mod own_protocol {
    use engine::bindings::custom_machine::{run, FromPython};
    use engine::plan::Plan;
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    use crate::confirm::{Confirm, OBSERVED};

    /// Runs one plan; the engine makes its arguments and what it returns.
    #[pyfunction(name = "run")]
    fn run_confirm<'py>(
        py: Python<'py>,
        plan: Plan,
        progress: Option<Py<PyAny>>,
        own: FromPython,
    ) -> PyResult<Bound<'py, PyDict>> {
        run(py, plan, progress, own, OBSERVED, |phone| {
            let (ponder, patience_s) =
                (phone.operation("ponder")?, phone.number("patience_s", 1.0)?);
            Ok(Confirm::new(phone.node, ponder, patience_s))
        })
    }
}
