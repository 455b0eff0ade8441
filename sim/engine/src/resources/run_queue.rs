//! One core that several threads want: Linux's EEVDF, of equal weights.
//!
//! Each thread has a virtual runtime, and what it is behind the mean of all that are queued is its
//! lag, which is kept while it sleeps. Who is not ahead of the mean is eligible; of these the one
//! with the earliest virtual deadline runs. A thread that wakes takes the core from one that is
//! ahead; from one that is not, only when that has had its slice ("run to parity"). One that falls
//! asleep while ahead stays queued until it is not ("delayed dequeue"). So who computes little runs
//! at once where others are behind with their work, and lets them finish where they are not.
//! What a thread itself does next is as in a runtime of one worker ([`Turn`]).
//! Stoica and Abdel-Wahab, Earliest Eligible Virtual Deadline First, 1995; Linux 6.12,
//! kernel/sched/fair.c: `pick_eevdf`, `place_entity`, `update_entity_lag`, `dequeue_entity`. The
//! kernel's ticks come before whatever the core does, and end no slice. What deliberately does not
//! live here: several cores, whose queues are balanced; what a switch takes.

use std::collections::VecDeque;

use pocketsim_protocols::contract::{Lane, Seconds};

/// The threads of a core, and what each has to do; inputs must not go back in time.
#[derive(Debug, Default)]
pub struct RunQueue {
    /// None where they take nothing.
    ticks: Option<Ticks>,
    /// Until when the runtime of who runs is counted.
    settled_s: Seconds,
    threads: Vec<Thread>,
    /// Whose last work has just ended: unless it is given more at once, it falls asleep.
    pausing: Option<usize>,
    /// Whose work has ended last.
    ended: Option<Ended>,
    /// What comes before all threads, and is counted as the runtime of none; a tick has no token.
    interrupts: VecDeque<(Option<u32>, Seconds)>,
    /// Who runs, by its place; somebody does where anybody has work.
    running: Option<usize>,
    /// Its runtime when the kernel last looked, which is when anybody wakes or falls asleep.
    seen_s: Seconds,
}

/// The kernel's own work, every [`TICK_S`].
#[derive(Clone, Copy, Debug)]
struct Ticks {
    /// When the next is, or of a core that rests, one that may have passed.
    next_s: Seconds,
    core_s: Seconds,
}

/// The end of a work, and what came of it in that moment.
#[derive(Clone, Copy, Debug)]
struct Ended {
    at: usize,
    time_s: Seconds,
    followed: usize,
}

#[derive(Debug)]
struct Thread {
    /// Of which phone, and its number there.
    name: (u32, u32),
    /// One after the other.
    works: VecDeque<Work>,
    /// Whether it has had the core since it had nothing to do.
    is_up: bool,
    /// With work, or without as long as it is ahead.
    is_queued: bool,
    runtime_s: Seconds,
    deadline_s: Seconds,
    /// Of a thread that is not queued.
    lag_s: Seconds,
}

#[derive(Clone, Copy, Debug)]
struct Work {
    token: u32,
    left_s: Seconds,
    turn: Turn,
    has_begun: bool,
}

/// Where work comes from, by which a thread does one before another.
///
/// A task goes on until it waits, and what it wakes comes next, in order. Then comes what other
/// threads have handed over, and only when nothing else is left what has arrived meanwhile. A thread
/// that wakes begins with what has arrived. tokio 1.54.1, runtime/scheduler/multi_thread/worker.rs:
/// `next_task`, `park`. Not modelled: it looks for what was handed over after every 2 to 127 tasks in
/// any case, by how long they take (runtime/scheduler/multi_thread/stats.rs), and at sockets after 61;
/// and of several that were woken it begins with the last, three times in a row at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Follows,
    Handed,
    Arrives,
}

impl Thread {
    fn new(name: (u32, u32)) -> Self {
        Self {
            name,
            works: VecDeque::new(),
            is_up: false,
            is_queued: false,
            runtime_s: 0.0,
            deadline_s: 0.0,
            lag_s: 0.0,
        }
    }
}

impl RunQueue {
    /// A core without threads, of which every tick takes so much; the first is within [`TICK_S`].
    pub fn with_ticks(first_s: Seconds, core_s: Seconds) -> Self {
        assert!(core_s < TICK_S, "ticks would leave nothing");
        let ticks = Ticks {
            next_s: first_s,
            core_s,
        };
        Self {
            ticks: (core_s > 0.0).then_some(ticks),
            ..Self::default()
        }
    }

    /// `token` is work of so many core seconds for a thread: the next if it follows from what that
    /// has just done.
    pub fn join(&mut self, now: Seconds, token: u32, thread: (u32, u32), core_s: Seconds) {
        self.add(now, token, thread, core_s, Turn::Arrives);
    }

    /// `token` ends when a thread comes to what another one hands over now.
    pub fn hand_over(&mut self, now: Seconds, token: u32, thread: (u32, u32)) {
        self.add(now, token, thread, 0.0, Turn::Handed);
    }

    fn add(&mut self, now: Seconds, token: u32, thread: (u32, u32), left_s: Seconds, turn: Turn) {
        self.settle(now);
        let at = self.place_of(thread);
        let (place, turn) = self.turn_of(at, turn);
        let work = Work {
            token,
            left_s,
            turn,
            has_begun: false,
        };
        self.threads[at].works.insert(place, work);
        if self.pausing == Some(at) {
            self.pausing = None;
            return;
        }
        if self.threads[at].works.len() > 1 {
            return;
        }
        match self.threads[at].is_queued {
            true => self.queue_again(at),
            false => self.queue(at),
        }
        self.yield_to(at);
    }

    /// Where a thread has what it is given now, and why.
    fn turn_of(&mut self, at: usize, turn: Turn) -> (usize, Turn) {
        let (now, thread) = (self.settled_s, &self.threads[at]);
        let follows = |ended: &&mut Ended| ended.at == at && ended.time_s == now;
        if let Some(ended) = self.ended.as_mut().filter(follows) {
            ended.followed += 1;
            let place = (ended.followed - 1).min(thread.works.len());
            return (place, Turn::Follows);
        }
        let later = match (turn, thread.is_up) {
            (Turn::Handed, true) => Turn::Arrives,
            (Turn::Arrives, false) => Turn::Handed,
            _ => return (thread.works.len(), turn),
        };
        let mut works = thread.works.iter();
        let place = works.position(|work| work.turn == later && !work.has_begun);
        (place.unwrap_or(thread.works.len()), turn)
    }

    /// `token` takes so many core seconds before all threads.
    pub fn interrupt(&mut self, now: Seconds, token: u32, core_s: Seconds) {
        self.settle(now);
        self.interrupts.push_back((Some(token), core_s));
    }

    /// When to look next, if nobody comes or goes before: work ends, or a slice, or a tick comes.
    pub fn next_end(&self) -> Option<Seconds> {
        if self.pausing.is_some() {
            return Some(self.settled_s);
        }
        let end_s = self.end_s()?;
        Some(self.ticks.map_or(end_s, |ticks| {
            // A tick at which the core began to compute is not behind it.
            end_s.min(ticks.next_s.max(self.settled_s))
        }))
    }

    /// When what the core does ends, or a slice, if no tick comes before; none of a core that rests.
    fn end_s(&self) -> Option<Seconds> {
        if let Some(work) = self.interrupts.front() {
            return Some(self.settled_s + work.1.max(0.0));
        }
        let (left_s, slice_s) = self.left_of_running_s()?;
        Some(self.settled_s + left_s.min(slice_s).max(0.0))
    }

    /// Core seconds until the work ends of who runs, and until its slice, if anybody waits for that.
    fn left_of_running_s(&self) -> Option<(Seconds, Seconds)> {
        let running = &self.threads[self.running?];
        let left_s = running.works.front().map_or(0.0, |work| work.left_s);
        let slice_s = match self.is_wanted() {
            true => running.deadline_s - running.runtime_s,
            false => Seconds::INFINITY,
        };
        Some((left_s, slice_s))
    }

    /// Goes on to the time that [`Self::next_end`] gave: the work that ends then, if any does.
    pub fn take_next(&mut self) -> Option<u32> {
        if let Some(at) = self.pausing.take() {
            self.sleep(at);
            return None;
        }
        // Dates are rounded the more the later they are: which comes first is told without them.
        let now = self.next_end()?;
        if let Some(ticks) = self.ticks.filter(|ticks| ticks.next_s <= now) {
            self.settle(now);
            self.interrupts.push_front((None, ticks.core_s));
            self.ticks = Some(Ticks {
                next_s: ticks.next_s + TICK_S,
                ..ticks
            });
            return None;
        }
        if !self.interrupts.is_empty() {
            self.settle(now);
            return self.interrupts.pop_front()?.0;
        }
        let (left_s, slice_s) = self.left_of_running_s()?;
        self.settle(now);
        let at = self.running?;
        if slice_s < left_s {
            self.give_slice(at);
            self.run_next();
            return None;
        }
        let running = &mut self.threads[at];
        let Work { token, .. } = running.works.pop_front()?;
        running.is_up = true;
        self.ended = Some(Ended {
            at,
            time_s: now,
            followed: 0,
        });
        if running.works.is_empty() {
            self.pausing = Some(at);
        }
        Some(token)
    }

    /// What is left of a work; none for who is not there.
    pub fn left(&self, now: Seconds, token: u32) -> Option<Seconds> {
        let mut interrupts = self.interrupts.iter();
        if let Some(place) = interrupts.position(|work| work.0 == Some(token)) {
            let has_run_s = if place == 0 {
                now - self.settled_s
            } else {
                0.0
            };
            return Some((self.interrupts[place].1 - has_run_s).max(0.0));
        }
        let found = |(at, thread): (usize, &Thread)| {
            let place = thread.works.iter().position(|work| work.token == token)?;
            let has_run_s =
                match self.running == Some(at) && place == 0 && self.interrupts.is_empty() {
                    true => now - self.settled_s,
                    false => 0.0,
                };
            Some((thread.works[place].left_s - has_run_s).max(0.0))
        };
        self.threads.iter().enumerate().find_map(found)
    }

    /// Works for which `goes` holds leave before their end; each is named.
    pub fn remove(&mut self, now: Seconds, goes: impl Fn(u32) -> bool) -> Vec<u32> {
        self.settle(now);
        let interrupting = self.interrupts.iter().filter_map(|work| work.0);
        let mut gone: Vec<u32> = interrupting.filter(|&token| goes(token)).collect();
        self.interrupts
            .retain(|work| work.0.is_none_or(|token| !goes(token)));
        for at in 0..self.threads.len() {
            let thread = &mut self.threads[at];
            let had_work = !thread.works.is_empty();
            let leaving = thread.works.iter().map(|work| work.token);
            gone.extend(leaving.filter(|&token| goes(token)));
            thread.works.retain(|work| !goes(work.token));
            if had_work && thread.works.is_empty() {
                thread.is_up = false;
                self.leave(at, 0.0);
            }
        }
        if self.running.is_some_and(|at| !self.threads[at].is_queued) {
            self.run_next();
        }
        gone
    }

    /// Counts what who runs has had until now.
    fn settle(&mut self, now: Seconds) {
        let passed_s = now - self.settled_s;
        if passed_s > 0.0 {
            if let Some(at) = self.pausing.take() {
                self.sleep(at);
            }
        }
        let is_resting = self.interrupts.is_empty() && self.running.is_none();
        if let Some(ticks) = self.ticks.as_mut().filter(|_| is_resting) {
            // A core that rests has ticks, too, which delay nobody.
            let behind = ((now - ticks.next_s) / TICK_S).ceil();
            ticks.next_s += behind.max(0.0) * TICK_S;
        }
        if let Some(work) = self.interrupts.front_mut() {
            work.1 -= passed_s;
        } else if let Some(at) = self.running {
            let running = &mut self.threads[at];
            running.runtime_s += passed_s;
            running.is_up |= passed_s > 0.0;
            if let Some(work) = running.works.front_mut() {
                work.left_s -= passed_s;
                work.has_begun |= passed_s > 0.0;
            }
        }
        self.settled_s = now;
    }

    /// The place of a thread, which may be that of a task's that has gone: those do not come again.
    fn place_of(&mut self, name: (u32, u32)) -> usize {
        let mut places = self.threads.iter();
        if let Some(place) = places.position(|thread| thread.name == name) {
            return place;
        }
        let has_gone = |thread: &Thread| !thread.is_queued && thread.name.1 >= Lane::FIRST_TASK;
        let (place, new) = (self.threads.iter().position(has_gone), Thread::new(name));
        match place {
            Some(place) => self.threads[place] = new,
            None => self.threads.push(new),
        }
        place.unwrap_or(self.threads.len() - 1)
    }

    /// A thread wakes: as far behind the mean as it was when it fell asleep.
    fn queue(&mut self, at: usize) {
        // Where nobody is queued the mean is whatever it is called: runtimes stay small.
        let (others, mean_s) = (self.queued().count() as f64, self.mean_s());
        let thread = &mut self.threads[at];
        // It moves the mean towards itself, and what it is behind is of the mean with it.
        let behind_s = match others > 0.0 {
            true => thread.lag_s * (others + 1.0) / others,
            false => 0.0,
        };
        thread.runtime_s = mean_s - behind_s;
        thread.deadline_s = thread.runtime_s + SLICE_S;
        thread.is_queued = true;
    }

    /// A thread wakes that was still queued because it was ahead; if it was behind already when the
    /// kernel last looked, that is lost (`requeue_delayed_entity` looks before `update_curr`).
    fn queue_again(&mut self, at: usize) {
        let running = self.running.map(|at| self.threads[at].runtime_s);
        let unseen_s = running.map_or(0.0, |runtime_s| (runtime_s - self.seen_s).min(TICK_S));
        let seen_mean_s = self.mean_s() - unseen_s / self.queued().count() as f64;
        if seen_mean_s > self.threads[at].runtime_s + ROUNDING_S {
            self.threads[at].is_queued = false;
            self.threads[at].lag_s = 0.0;
            self.queue(at);
        }
    }

    /// A thread has nothing left to do.
    fn sleep(&mut self, at: usize) {
        self.threads[at].is_up = false;
        let lag_s = self.mean_s() - self.threads[at].runtime_s;
        if lag_s >= -ROUNDING_S {
            self.leave(at, lag_s.min(2.0 * SLICE_S));
        }
        if self.running == Some(at) {
            self.run_next();
        }
    }

    fn leave(&mut self, at: usize, lag_s: Seconds) {
        self.threads[at].is_queued = false;
        self.threads[at].lag_s = lag_s;
    }

    /// Who runs next; those that are asleep leave once it would be their turn.
    fn pick(&mut self) -> Option<usize> {
        loop {
            let first = self.first()?;
            if !self.threads[first].works.is_empty() || self.pausing == Some(first) {
                return Some(first);
            }
            self.leave(first, 0.0);
        }
    }

    /// Of those that are not ahead, the one with the earliest deadline.
    fn first(&self) -> Option<usize> {
        let mean_s = self.mean_s();
        let is_eligible = |at: &usize| self.threads[*at].runtime_s <= mean_s + ROUNDING_S;
        // Of two equal ones who has not run until now is first.
        let order = |at: &usize| (self.threads[*at].deadline_s, self.running == Some(*at));
        let first = self.queued().filter(is_eligible).min_by(|a, b| {
            let ((a_s, a_runs), (b_s, b_runs)) = (order(a), order(b));
            a_s.total_cmp(&b_s).then(a_runs.cmp(&b_runs))
        });
        // After hours without a pause even the mean of equal ones may be rounded below them.
        let runtime_s = |at: usize| self.threads[at].runtime_s;
        let least = |a: &usize, b: &usize| runtime_s(*a).total_cmp(&runtime_s(*b));
        first.or_else(|| self.queued().min_by(least))
    }

    /// Who runs makes room for who has just woken, if it is ahead or has had its slice.
    fn yield_to(&mut self, woken: usize) {
        let Some(at) = self.running else {
            return self.run_next();
        };
        let running = &self.threads[at];
        if running.runtime_s >= running.deadline_s {
            self.give_slice(at);
            self.run_next();
        } else if running.runtime_s > self.mean_s() + ROUNDING_S && self.first() == Some(woken) {
            self.running = Some(woken);
        }
        self.see();
    }

    /// A thread that has had its slice has another, with a later deadline.
    fn give_slice(&mut self, at: usize) {
        let thread = &mut self.threads[at];
        thread.deadline_s = thread.runtime_s + SLICE_S;
    }

    fn run_next(&mut self) {
        self.running = self.pick();
        self.see();
    }

    /// The kernel has counted the runtime of who runs.
    fn see(&mut self) {
        if let Some(at) = self.running {
            self.seen_s = self.threads[at].runtime_s;
        }
    }

    /// Whether anybody else has work. One that is asleep, though queued, ends no slice: by that it
    /// would be kept waiting more often than it is on Linux 6.18 (`tests/run_queue.rs`).
    fn is_wanted(&self) -> bool {
        let mut working = self
            .threads
            .iter()
            .filter(|thread| !thread.works.is_empty());
        working.nth(1).is_some()
    }

    fn queued(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.threads.len()).filter(|&at| self.threads[at].is_queued)
    }

    /// The mean of the virtual runtimes of all that are queued.
    fn mean_s(&self) -> Seconds {
        let (count, sum_s) = self.queued().fold((0.0, 0.0), |(count, sum_s), at| {
            (count + 1.0, sum_s + self.threads[at].runtime_s)
        });
        match count > 0.0 {
            true => sum_s / count,
            false => 0.0,
        }
    }
}

/// 0.7 ms times 1 + log2 of the processors, of eight or more (kernel/sched/fair.c,
/// `sysctl_sched_base_slice` and `get_update_sysctl_factor`).
pub const SLICE_S: Seconds = 2.8e-3;
/// The kernel looks that often, whatever happens (CONFIG_HZ=250).
pub const TICK_S: Seconds = 4e-3;
/// Two runtimes that are no further apart are one: they are sums of what was counted since a core was
/// idle.
const ROUNDING_S: Seconds = 1e-12;
