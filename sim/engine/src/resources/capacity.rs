//! A capacity with a date for whoever ends next: who is alone is reckoned once, others share.
//!
//! What has a capacity of its own waits in one queue of dates, so a capacity says when it has to be
//! looked at. What comes or goes in between may put an end off or bring it forward: a look that
//! comes too early asks for another, and a look is asked for only when it is sooner than those that
//! are to come, so that they never pile up. What deliberately does not live here: what members are.

use pocketsim_protocols::contract::Seconds;

use crate::resources::max_min::{Claim, MaxMinShare};
use crate::resources::run_queue::RunQueue;

/// A capacity, and those who use it.
#[derive(Debug)]
pub struct Capacity {
    /// The only one who uses it, which is the rule and needs no more than this.
    alone: Option<Alone>,
    /// Since several met for the first time.
    shared: Option<Box<Shared>>,
    /// The next look that was asked for; infinite for none.
    look_s: Seconds,
}

/// What only those need who meet others.
#[derive(Debug)]
struct Shared {
    members: Members,
    /// Looks after the next that were asked for, the latest first.
    later_s: Vec<Seconds>,
}

/// Those who use a capacity, by how they do.
#[derive(Debug)]
enum Members {
    Sharing(MaxMinShare),
    Threads(RunQueue),
}

#[derive(Debug)]
struct Alone {
    token: u32,
    end_s: Seconds,
    claim: Claim,
}

impl Capacity {
    /// Nobody uses it.
    pub const IDLE: Capacity = Capacity {
        alone: None,
        shared: None,
        look_s: Seconds::INFINITY,
    };

    /// A core that threads take from each other.
    pub fn of_threads(queue: RunQueue) -> Capacity {
        let shared = Shared {
            members: Members::Threads(queue),
            later_s: Vec::new(),
        };
        Capacity {
            shared: Some(Box::new(shared)),
            ..Self::IDLE
        }
    }

    /// The threads, of a core that they take from each other; [`Self::ask`] after any change.
    pub fn run_queue(&mut self) -> Option<&mut RunQueue> {
        match &mut self.shared.as_mut()?.members {
            Members::Threads(queue) => Some(queue),
            Members::Sharing(_) => None,
        }
    }

    /// `token` begins to use a capacity of `capacity_per_s`; says when to look, if that is not asked for.
    pub fn join(
        &mut self,
        capacity_per_s: f64,
        now: Seconds,
        token: u32,
        claim: Claim,
    ) -> Option<Seconds> {
        let make = || Box::new(Shared::new(capacity_per_s));
        let shared = self.shared.as_ref();
        let is_shared = shared.is_some_and(|shared| shared.members.are_sharing());
        if !is_shared && self.alone.is_none() {
            let end_s = now + claim.amount / claim.bound_per_s.min(capacity_per_s);
            self.alone = Some(Alone {
                token,
                end_s,
                claim,
            });
            if self.look_s.is_finite() {
                // Who left before the end has left a look behind, which has to be remembered.
                self.shared.get_or_insert_with(make);
            }
            return self.ask();
        }
        let Members::Sharing(share) = &mut self.shared.get_or_insert_with(make).members else {
            unreachable!("threads have a run queue")
        };
        if let Some(alone) = self.alone.take() {
            let left = alone.left(capacity_per_s, now);
            let claim = Claim {
                amount: left,
                ..alone.claim
            };
            share.join(now, alone.token, claim);
        }
        share.join(now, token, claim);
        self.ask()
    }

    /// Looks at `now`, as was asked for: takes who ends, if somebody does, and says when to look
    /// again, if that is not asked for.
    pub fn look(&mut self, now: Seconds) -> (Option<u32>, Option<Seconds>) {
        let later_s = self.shared.as_mut().and_then(|shared| shared.later_s.pop());
        self.look_s = later_s.unwrap_or(Seconds::INFINITY);
        let is_due = self.next_end().is_some_and(|end_s| end_s <= now);
        let ended = if !is_due {
            None
        } else if let Some(alone) = self.alone.take() {
            Some(alone.token)
        } else {
            let shared = self.shared.as_mut();
            shared.and_then(|shared| shared.members.take_next())
        };
        (ended, self.ask())
    }

    /// How many share it now; none of threads, which take turns.
    pub fn members(&self) -> usize {
        let shared = || {
            self.shared
                .as_ref()
                .map_or(0, |shared| shared.members.len())
        };
        self.alone.as_ref().map_or_else(shared, |_| 1)
    }

    /// What is left of the claim of `token` in a capacity of `capacity_per_s`; none for who is not there.
    pub fn left(&self, capacity_per_s: f64, now: Seconds, token: u32) -> Option<f64> {
        match &self.alone {
            Some(alone) if alone.token == token => Some(alone.left(capacity_per_s, now)),
            Some(_) => None,
            None => self.shared.as_ref()?.members.left(now, token),
        }
    }

    /// Those for which `goes` holds leave before their end; they are named. Says when to look, if
    /// that is not asked for.
    pub fn remove(
        &mut self,
        now: Seconds,
        goes: impl Fn(u32) -> bool,
    ) -> (Vec<u32>, Option<Seconds>) {
        let gone = if self.alone.as_ref().is_some_and(|alone| goes(alone.token)) {
            self.alone
                .take()
                .map(|alone| alone.token)
                .into_iter()
                .collect()
        } else {
            let shared = self.shared.as_mut();
            shared.map_or_else(Vec::new, |shared| shared.members.remove(now, goes))
        };
        (gone, self.ask())
    }

    fn next_end(&self) -> Option<Seconds> {
        match &self.alone {
            Some(alone) => Some(alone.end_s),
            None => self.shared.as_ref()?.members.next_end(),
        }
    }

    /// Asks for a look at the next end, unless there is one before.
    pub fn ask(&mut self) -> Option<Seconds> {
        let end_s = self.next_end()?;
        if end_s >= self.look_s {
            return None;
        }
        if let (true, Some(shared)) = (self.look_s.is_finite(), &mut self.shared) {
            shared.later_s.push(self.look_s);
        }
        self.look_s = end_s;
        Some(end_s)
    }
}

impl Shared {
    fn new(capacity_per_s: f64) -> Self {
        Self {
            members: Members::Sharing(MaxMinShare::new(capacity_per_s)),
            later_s: Vec::new(),
        }
    }
}

impl Members {
    fn are_sharing(&self) -> bool {
        matches!(self, Self::Sharing(share) if !share.is_empty())
    }

    fn len(&self) -> usize {
        match self {
            Self::Sharing(share) => share.members(),
            Self::Threads(_) => 0,
        }
    }

    fn next_end(&self) -> Option<Seconds> {
        match self {
            Self::Sharing(share) => share.next_end(),
            Self::Threads(queue) => queue.next_end(),
        }
    }

    fn take_next(&mut self) -> Option<u32> {
        match self {
            Self::Sharing(share) => share.take_next(),
            Self::Threads(queue) => queue.take_next(),
        }
    }

    fn left(&self, now: Seconds, token: u32) -> Option<f64> {
        match self {
            Self::Sharing(share) => share.left(now, token),
            Self::Threads(queue) => queue.left(now, token),
        }
    }

    fn remove(&mut self, now: Seconds, goes: impl Fn(u32) -> bool) -> Vec<u32> {
        match self {
            Self::Sharing(share) => share.remove(now, goes),
            Self::Threads(queue) => queue.remove(now, goes),
        }
    }
}

impl Alone {
    fn left(&self, capacity_per_s: f64, now: Seconds) -> f64 {
        let rate_per_s = self.claim.bound_per_s.min(capacity_per_s);
        ((self.end_s - now) * rate_per_s).clamp(0.0, self.claim.amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(amount: f64) -> Claim {
        Claim {
            amount,
            bound_per_s: 1.0,
            weight: 1.0,
        }
    }

    #[test]
    fn looks_do_not_pile_up_beside_one_that_is_far_off() {
        let mut capacity = Capacity::IDLE;
        let mut asked = usize::from(capacity.join(1.0, 0.0, 0, claim(1e6)).is_some());
        let mut now = 0.0;
        for token in 1..1000 {
            now = capacity
                .join(1.0, now, token, claim(0.5))
                .expect("it ends before");
            let (ended, again) = capacity.look(now);
            assert_eq!(ended, Some(token));
            asked += 1 + usize::from(again.is_some());
        }
        assert_eq!(asked, 1000, "one for each");
        let shared = capacity.shared.as_ref().expect("several met");
        assert!(shared.later_s.is_empty());
        // The first look was asked for before anybody else came, so it is too early.
        let (ended, again) = capacity.look(1e6);
        assert_eq!(ended, None);
        let end_s = 1e6 + 999.0 * 0.5;
        assert!((again.expect("again") - end_s).abs() < 1e-6);
        assert_eq!(capacity.look(again.expect("again")), (Some(0), None));
    }

    #[test]
    fn looks_do_not_pile_up_where_who_is_alone_leaves_before_the_end() {
        let mut capacity = Capacity::IDLE;
        let mut looks = Vec::new();
        for token in 0..100 {
            let now = f64::from(token);
            looks.extend(capacity.join(1.0, now, token, claim(1e3 - 2.0 * now)));
            capacity.remove(now + 0.5, |_| true);
        }
        assert_eq!(looks.len(), 100, "each ends before the one that left");
        looks.reverse();
        capacity.join(1.0, 100.0, 100, claim(1.0));
        assert_eq!(capacity.look(101.0), (Some(100), None));
        for look_s in looks {
            assert_eq!(capacity.look(look_s), (None, None), "nobody is left");
        }
        assert_eq!(capacity.look_s, Seconds::INFINITY);
    }

    #[test]
    fn who_leaves_is_named_and_the_others_go_faster() {
        let mut capacity = Capacity::IDLE;
        capacity.join(1.0, 0.0, 7, claim(1.0));
        capacity.join(1.0, 0.0, 8, claim(1.0));
        assert_eq!(capacity.left(1.0, 1.0, 8), Some(0.5));
        let gone = capacity.remove(1.0, |token| token == 7);
        assert_eq!(gone, (vec![7], None), "a look at 1 s is to come");
        assert_eq!(capacity.look(1.0), (None, Some(1.5)));
        assert_eq!(capacity.look(1.5), (Some(8), None));
    }
}
