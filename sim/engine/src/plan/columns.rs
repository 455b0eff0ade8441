//! How a plan comes from Python: columns as arrays, without a Python object per value, and options
//! as dictionaries that serde reads.
//!
//! What deliberately does not live here: the columns of a trace, which go the other way.

use pocketsim_protocols::transport::eva::EvaConfig;
use pocketsim_protocols::transport::TransportConfig;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pythonize::depythonize;

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

/// Options of a transport, from a dictionary; anything missing or unknown is a mistake.
pub(crate) fn options(given: &Bound<'_, PyAny>) -> PyResult<TransportConfig> {
    Ok(depythonize(given)?)
}

/// Options of EVA, the same way; none for other transports.
pub(crate) fn eva(given: &Bound<'_, PyAny>) -> PyResult<Option<EvaConfig>> {
    Ok(depythonize(given)?)
}

fn column<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(array)?.to_vec(array.py())
}
