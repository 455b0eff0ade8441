//! Phones on access networks: an attachment is a phone at one of a network's sites.
//!
//! The first of each phone has the phone's number; those that phones move to have the numbers behind
//! them. What deliberately does not live here: when phones move ([`crate::driver::moving`]).

use crate::base::rng::mix;
use crate::plan::{Moves, Plan};

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
    phones: usize,
}

impl Attachments {
    /// Those that phones begin with, and those that they move to.
    pub fn new(plan: &Plan) -> Self {
        let (phones, moves) = (&plan.phones, plan.moves.as_ref());
        let none: &[u32] = &[];
        let further = |column: fn(&Moves) -> &Vec<u32>| moves.map_or(none, |moves| column(moves));
        let first: Vec<u32> = (0..phones.access.len() as u32).collect();
        Self {
            phone: [&first, further(|moves| &moves.phone)].concat(),
            access: [&phones.access, further(|moves| &moves.access)].concat(),
            site: [&phones.site, further(|moves| &moves.site)].concat(),
            mcs: [&phones.mcs, further(|moves| &moves.mcs)].concat(),
            phones: phones.access.len(),
        }
    }

    /// The number of the air that each uses, and the capacity of each air as of sites: the air of its
    /// site, or its own where nobody contends.
    pub fn airs(&self, plan: &Plan) -> (Vec<u32>, Vec<f64>) {
        let capacities = &plan.sites.capacity_bytes_per_s;
        if plan.contention {
            return (self.site.clone(), capacities.clone());
        }
        let own = self.site.iter().map(|&site| capacities[site as usize]);
        ((0..self.site.len() as u32).collect(), own.collect())
    }

    /// Seed and number of the streams of an attachment: those of its phone, and apart for each network
    /// that it goes to, so that no other phone moves a draw.
    pub fn streams(&self, seed: u64, attachment: u32) -> (u64, u32) {
        let at = attachment as usize;
        let phone = self.phone[at];
        match at < self.phones {
            true => (seed, phone),
            false => (seed ^ mix(1 + u64::from(self.access[at])), phone),
        }
    }
}

/// Which attachment each phone has now.
#[derive(Clone, Debug)]
pub struct Attached(Option<Vec<u32>>);

impl Attached {
    /// Each has its first.
    pub fn new(plan: &Plan) -> Self {
        let phones = plan.phones.access.len() as u32;
        Self(plan.moves.as_ref().map(|_| (0..phones).collect()))
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
