//! Phones that change their access network.

#[cfg(feature = "python")]
use crate::plan::columns::{floats, numbers};
use crate::plan::Phones;
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

/// All attachments of a run, as columns of one length.
#[derive(Clone, Debug)]
pub struct Attachments {
    /// Phone.
    pub phone: Vec<u32>,
    /// Number of its access network.
    pub access: Vec<u32>,
    /// Number of its site.
    pub site: Vec<u32>,
    /// As `Phones::mcs`.
    pub mcs: Vec<u32>,
}

impl Attachments {
    /// Those that phones begin with, and those that they move to.
    pub fn new(phones: &Phones, moves: Option<&Moves>) -> Self {
        let none: &[u32] = &[];
        let further = |column: fn(&Moves) -> &Vec<u32>| moves.map_or(none, |moves| column(moves));
        let first: Vec<u32> = (0..phones.access.len() as u32).collect();
        Self {
            phone: [&first, further(|moves| &moves.phone)].concat(),
            access: [&phones.access, further(|moves| &moves.access)].concat(),
            site: [&phones.site, further(|moves| &moves.site)].concat(),
            mcs: [&phones.mcs, further(|moves| &moves.mcs)].concat(),
        }
    }
}

/// Which attachment each phone has now.
#[derive(Clone, Debug)]
pub struct Attached(Option<Vec<u32>>);

impl Attached {
    /// Each has its first.
    pub fn new(moves: Option<&Moves>, phones: usize) -> Self {
        Self(moves.map(|_| (0..phones as u32).collect()))
    }

    /// That of a phone.
    #[inline(always)]
    pub fn of(&self, phone: u32) -> u32 {
        match &self.0 {
            None => phone,
            Some(attached) => attached[phone as usize],
        }
    }

    /// Whether phones move.
    pub fn varies(&self) -> bool {
        self.0.is_some()
    }

    /// A phone has another from now on.
    pub fn join(&mut self, phone: u32, attachment: u32) {
        if let Some(attached) = &mut self.0 {
            attached[phone as usize] = attachment;
        }
    }
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
