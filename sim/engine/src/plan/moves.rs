//! Phones that change their access network.

#[cfg(feature = "python")]
use crate::plan::columns::{floats, numbers};
#[cfg(feature = "python")]
use pyo3::FromPyObject;

/// Where phones go beside where they begin, and when.
///
/// An attachment is a phone on an access network, at one of its sites. The first of each phone has
/// the phone's number; those that follow here have the numbers behind those.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Moves {
    /// Of each further attachment its phone.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub phone: Vec<u32>,
    /// Its access network.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub access: Vec<u32>,
    /// Its site.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub site: Vec<u32>,
    /// Modulation and coding scheme there, as `Phones::mcs`; empty where no network has any.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub mcs: Vec<u32>,
    /// Class of the NAT there, as `Nats::classes`; empty where no network has any.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub nat_class: Vec<u32>,
    /// When a phone leaves its network, ascending, seconds; the following are columns of this length.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub time_s: Vec<f64>,
    /// How long it has none then, seconds.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub interruption_s: Vec<f64>,
    /// Number of the attachment that it has afterwards.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub attachment: Vec<u32>,
}

impl Moves {
    /// The phone that an attachment is of, where so many phones have one from the beginning.
    pub fn phone_of(&self, attachment: u32, phones: usize) -> u32 {
        match (attachment as usize).checked_sub(phones) {
            None => attachment,
            Some(further) => self.phone[further],
        }
    }
}
