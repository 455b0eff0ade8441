//! Phones that are processes of one computer: whose cores each uses, and whose work is whose.
//!
//! What deliberately does not live here: how cores are shared ([`crate::resources::capacity`]).

use std::collections::HashMap;

use crate::plan::Phones;

/// Who uses whose cores, where some phones use those of another.
#[derive(Debug)]
pub(crate) struct Computers {
    /// By phone.
    cores_of: Vec<u32>,
    /// Phones by tokens of their work that is under way; asked, never gone through.
    owners: HashMap<u32, u32>,
}

impl Computers {
    /// None where each phone has cores of its own.
    pub(crate) fn new(phones: &Phones) -> Option<Self> {
        let cores_of = phones.cores_of.clone();
        let owners = HashMap::new();
        (!cores_of.is_empty()).then_some(Self { cores_of, owners })
    }

    /// The phone that has the cores of `phone`.
    pub(crate) fn host(&self, phone: u32) -> u32 {
        self.cores_of[phone as usize]
    }

    /// `phone` begins some work.
    pub(crate) fn begin(&mut self, token: u32, phone: u32) {
        self.owners.insert(token, phone);
    }

    /// It is over.
    pub(crate) fn end(&mut self, token: u32) {
        self.owners.remove(&token);
    }

    /// Whether work that is under way is of `phone`.
    pub(crate) fn is_of(&self, token: u32, phone: u32) -> bool {
        self.owners.get(&token) == Some(&phone)
    }
}
