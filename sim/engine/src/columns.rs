//! Columns between Python and the engine: arrays in, bytes out, without a Python object per value.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::trace::Columns;

/// A column of doubles, from an array of them; any other array is a mistake.
pub(crate) fn floats(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    column(array)
}

/// A column of numbers, from an array of `uint32`.
pub(crate) fn numbers(array: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    column(array)
}

/// A column of counts, from an array of `uint64`.
pub(crate) fn counts(array: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    column(array)
}

/// A column of truths, from an array of `uint8`.
pub(crate) fn flags(array: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
    let bytes: Vec<u8> = column(array)?;
    Ok(bytes.into_iter().map(|byte| byte != 0).collect())
}

fn column<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(array)?.to_vec(array.py())
}

/// The columns of a trace, each as little-endian bytes.
pub(crate) fn to_dict<'py>(py: Python<'py>, columns: &Columns) -> PyResult<Bound<'py, PyDict>> {
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

fn bytes<T: Copy, const N: usize>(values: &[T], write: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| write(value)).collect()
}
