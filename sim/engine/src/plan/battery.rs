//! Batteries of phones, what drains them beside the app, and their chargers.

#[cfg(feature = "python")]
use crate::plan::columns::{floats, numbers};
#[cfg(feature = "python")]
use pyo3::FromPyObject;

/// Batteries by phone, and changes of what flows beside what the app takes.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Battery {
    /// By phone: what a full battery holds, joules; infinite for one on the mains.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub capacity_j: Vec<f64>,
    /// By phone: what it holds at the start, more than 0 joules.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub level_j: Vec<f64>,
    /// By phone: a dead one comes back when it holds so much again, more than 0 joules.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub revives_j: Vec<f64>,
    /// Whose flows change; sorted by phone, then by time. Before its first change nothing flows.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub phone: Vec<u32>,
    /// When, seconds.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub time_s: Vec<f64>,
    /// What the phone draws from then on beside the app, unless it is dead, watts.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub other_w: Vec<f64>,
    /// What a charger gives from then on, watts.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub charge_w: Vec<f64>,
}
