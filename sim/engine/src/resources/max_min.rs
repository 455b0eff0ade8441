//! A capacity that several use at once: max-min fair shares, in arithmetic.
//!
//! Each member gets its weight times a level that is common to all, but never more than its bound;
//! the level is the highest at which all of them together get no more than there is (weighted
//! max-min fairness, which for one capacity is water-filling: Bertsekas and Gallager, Data
//! Networks, 1992, section 6.5.2). Members of equal bound and weight always get the same, so each
//! such class keeps one account of what it gave each of them, and a member ends when that reaches
//! what it came with: no event changes more than one number for each class. SimGrid's shares are
//! the same (`tests/shares.rs`). What deliberately does not live here: whose capacity it is.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use pocketsim_protocols::contract::Seconds;

/// What a member asks of a capacity, in its units: bytes, or core seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// What it needs before it ends; more than 0.
    pub amount: f64,
    /// The most that it can use, per second.
    pub bound_per_s: f64,
    /// Its weight against other members when there is too little.
    pub weight: f64,
}

/// A capacity and those who use it now; inputs must not go back in time.
#[derive(Debug)]
pub struct MaxMinShare {
    capacity_per_s: f64,
    /// Until when the accounts of all classes are settled.
    settled_s: Seconds,
    /// By the level from which on a member gets its bound, the lowest first.
    classes: Vec<Class>,
    members: usize,
    serial: u64,
}

#[derive(Debug)]
struct Class {
    bound_per_s: f64,
    weight: f64,
    /// What each member gets.
    rate_per_s: f64,
    /// What each member would have got, had it been there since the class was empty.
    given: f64,
    /// The next to end first.
    members: BinaryHeap<Reverse<Member>>,
}

#[derive(Debug)]
struct Member {
    /// It ends when the class has given this.
    until: f64,
    serial: u64,
    token: u32,
}

impl MaxMinShare {
    /// An unused capacity.
    pub fn new(capacity_per_s: f64) -> Self {
        Self {
            capacity_per_s,
            settled_s: 0.0,
            classes: Vec::new(),
            members: 0,
            serial: 0,
        }
    }

    /// Whether nobody uses it.
    pub fn is_empty(&self) -> bool {
        self.members == 0
    }

    /// How many use it.
    pub fn members(&self) -> usize {
        self.members
    }

    /// `token` begins to use it.
    pub fn join(&mut self, now: Seconds, token: u32, claim: Claim) {
        self.settle(now);
        let at = self.class_of(claim);
        let class = &mut self.classes[at];
        class.members.push(Reverse(Member {
            until: class.given + claim.amount,
            serial: self.serial,
            token,
        }));
        self.serial += 1;
        self.members += 1;
        self.divide();
    }

    /// When the next member ends, if nobody comes or goes before.
    pub fn next_end(&self) -> Option<Seconds> {
        let next = self.next_class()?;
        Some(self.settled_s + self.classes[next].next_in_s())
    }

    /// Takes the member that ends first, at the time that [`Self::next_end`] gave.
    pub fn take_next(&mut self) -> Option<u32> {
        let next = self.next_class()?;
        self.settle(self.settled_s + self.classes[next].next_in_s());
        let class = &mut self.classes[next];
        let Reverse(ended) = class.members.pop()?;
        // What rounding kept from it is nobody else's.
        class.given = class.given.max(ended.until);
        self.forget(next);
        Some(ended.token)
    }

    /// What is left of a member's claim; none for who is no member.
    pub fn left(&self, now: Seconds, token: u32) -> Option<f64> {
        // Without settling: asking must not move the date of anybody's end, even by a rounding.
        let passed_s = now - self.settled_s;
        let left = |class: &Class| {
            let mut members = class.members.iter();
            let found = members.find(|member| member.0.token == token)?;
            let given = class.given + class.rate_per_s * passed_s;
            Some((found.0.until - given).max(0.0))
        };
        self.classes.iter().find_map(left)
    }

    /// Members for which `goes` holds leave before their end; each is named.
    pub fn remove(&mut self, now: Seconds, goes: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut members = self.classes.iter().flat_map(|class| class.members.iter());
        if !members.any(|member| goes(member.0.token)) {
            return vec![];
        }
        self.settle(now);
        let mut gone = Vec::new();
        for at in 0..self.classes.len() {
            let before = gone.len();
            self.classes[at].members.retain(|member| {
                let goes = goes(member.0.token);
                gone.extend(goes.then_some(member.0.token));
                !goes
            });
            for _ in before..gone.len() {
                self.forget(at);
            }
        }
        gone
    }

    /// Gives what was to be given until `now`.
    fn settle(&mut self, now: Seconds) {
        let passed_s = now - self.settled_s;
        self.settled_s = now;
        for class in &mut self.classes {
            class.given += class.rate_per_s * passed_s;
        }
    }

    /// A member of the class at `at` is there no more.
    fn forget(&mut self, at: usize) {
        self.members -= 1;
        let class = &mut self.classes[at];
        if class.members.is_empty() {
            class.given = 0.0; // so that accounts stay small, and exact
            class.rate_per_s = 0.0;
        }
        self.divide();
    }

    /// Says what each class gets from now on.
    fn divide(&mut self) {
        let used = |class: &&mut Class| !class.members.is_empty();
        let weigh = |class: &Class| class.weight * class.members.len() as f64;
        let mut weight: f64 = self.classes.iter().map(weigh).sum();
        let mut left_per_s = self.capacity_per_s;
        for class in self.classes.iter_mut().filter(used) {
            let level = left_per_s.max(0.0) / weight;
            class.rate_per_s = class.bound_per_s.min(class.weight * level);
            left_per_s -= class.rate_per_s * class.members.len() as f64;
            weight -= weigh(class);
        }
    }

    fn class_of(&mut self, claim: Claim) -> usize {
        let level = |bound_per_s: f64, weight: f64| (bound_per_s / weight, weight);
        let wanted = level(claim.bound_per_s, claim.weight);
        let order = |class: &Class| {
            let (one, other) = level(class.bound_per_s, class.weight);
            one.total_cmp(&wanted.0).then(other.total_cmp(&wanted.1))
        };
        match self.classes.binary_search_by(order) {
            Ok(at) => at,
            Err(at) => {
                self.classes.insert(at, Class::new(claim));
                at
            }
        }
    }

    /// The class whose member ends next; of several the one whose member came first.
    fn next_class(&self) -> Option<usize> {
        let end = |class: &Class| {
            let next = class.members.peek()?;
            Some((class.next_in_s(), next.0.serial))
        };
        let ends = self.classes.iter().enumerate();
        let ends = ends.filter_map(|(at, class)| Some((end(class)?, at)));
        let first = |((one_s, one), _): &((f64, u64), usize),
                     ((other_s, other), _): &((f64, u64), usize)| {
            one_s.total_cmp(other_s).then(one.cmp(other))
        };
        ends.min_by(first).map(|(_, at)| at)
    }
}

impl Class {
    fn new(claim: Claim) -> Self {
        Self {
            bound_per_s: claim.bound_per_s,
            weight: claim.weight,
            rate_per_s: 0.0,
            given: 0.0,
            members: BinaryHeap::new(),
        }
    }

    /// How long its next member still needs, seconds.
    fn next_in_s(&self) -> Seconds {
        let next = self.members.peek();
        next.map_or(Seconds::INFINITY, |member| {
            ((member.0.until - self.given) / self.rate_per_s).max(0.0)
        })
    }
}

impl Ord for Member {
    fn cmp(&self, other: &Self) -> Ordering {
        self.until
            .total_cmp(&other.until)
            .then(self.serial.cmp(&other.serial))
    }
}

impl PartialOrd for Member {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Member {}
