//! One core that several threads want: Linux's EEVDF, of equal weights.
//!
//! Each thread has a virtual runtime, and what it is behind the mean of all that are queued is its
//! lag, which is kept while it sleeps. Who is not ahead of the mean is eligible; of these the one
//! with the earliest virtual deadline runs. A thread that wakes takes the core from one that is
//! ahead; from one that is not, only when that has had its slice ("run to parity"). One that falls
//! asleep while ahead stays queued until it is not ("delayed dequeue"). So who computes little runs
//! at once where others are behind with their work, and lets them finish where they are not.
//! Stoica and Abdel-Wahab, Earliest Eligible Virtual Deadline First, 1995; Linux 6.12,
//! kernel/sched/fair.c: `pick_eevdf`, `place_entity`, `update_entity_lag`, `dequeue_entity`. What
//! deliberately does not live here: several cores, whose queues are balanced; what a switch takes.

use std::collections::VecDeque;

use pocketsim_protocols::contract::{Lane, Seconds};

/// The threads of a core, and what each has to do; inputs must not go back in time.
#[derive(Debug, Default)]
pub struct RunQueue {
    /// Until when the runtime of who runs is counted.
    settled_s: Seconds,
    threads: Vec<Thread>,
    /// Whose last work has just ended: unless it is given more at once, it falls asleep.
    pausing: Option<usize>,
    /// What comes before all threads, and is counted as the runtime of none.
    interrupts: VecDeque<(u32, Seconds)>,
    /// Who runs, by its place; somebody does where anybody has work.
    running: Option<usize>,
    /// Its runtime when the kernel last looked, which is when anybody wakes or falls asleep.
    seen_s: Seconds,
}

#[derive(Debug)]
struct Thread {
    /// Of which phone, and its number there.
    name: (u32, u32),
    /// By token, with the core seconds that are left, one after the other.
    works: VecDeque<(u32, Seconds)>,
    /// With work, or without as long as it is ahead.
    is_queued: bool,
    runtime_s: Seconds,
    deadline_s: Seconds,
    /// Of a thread that is not queued.
    lag_s: Seconds,
}

impl Thread {
    fn new(name: (u32, u32)) -> Self {
        Self {
            name,
            works: VecDeque::new(),
            is_queued: false,
            runtime_s: 0.0,
            deadline_s: 0.0,
            lag_s: 0.0,
        }
    }
}

impl RunQueue {
    /// `token` is work of so many core seconds for a thread.
    pub fn join(&mut self, now: Seconds, token: u32, thread: (u32, u32), core_s: Seconds) {
        self.settle(now);
        let at = self.place_of(thread);
        self.threads[at].works.push_back((token, core_s));
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

    /// `token` takes so many core seconds before all threads.
    pub fn interrupt(&mut self, now: Seconds, token: u32, core_s: Seconds) {
        self.settle(now);
        self.interrupts.push_back((token, core_s));
    }

    /// When to look next, if nobody comes or goes before: work ends, or a slice.
    pub fn next_end(&self) -> Option<Seconds> {
        if self.pausing.is_some() {
            return Some(self.settled_s);
        }
        if let Some(work) = self.interrupts.front() {
            return Some(self.settled_s + work.1.max(0.0));
        }
        let (left_s, slice_s) = self.left_of_running_s()?;
        Some(self.settled_s + left_s.min(slice_s).max(0.0))
    }

    /// Core seconds until the work ends of who runs, and until its slice, if anybody waits for that.
    fn left_of_running_s(&self) -> Option<(Seconds, Seconds)> {
        let running = &self.threads[self.running?];
        let left_s = running.works.front().map_or(0.0, |work| work.1);
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
        if !self.interrupts.is_empty() {
            self.settle(now);
            return self.interrupts.pop_front().map(|work| work.0);
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
        let (token, _) = running.works.pop_front()?;
        if running.works.is_empty() {
            self.pausing = Some(at);
        }
        Some(token)
    }

    /// What is left of a work; none for who is not there.
    pub fn left(&self, now: Seconds, token: u32) -> Option<Seconds> {
        if let Some(place) = self.interrupts.iter().position(|work| work.0 == token) {
            let has_run_s = if place == 0 {
                now - self.settled_s
            } else {
                0.0
            };
            return Some((self.interrupts[place].1 - has_run_s).max(0.0));
        }
        let found = |(at, thread): (usize, &Thread)| {
            let place = thread.works.iter().position(|work| work.0 == token)?;
            let has_run_s =
                match self.running == Some(at) && place == 0 && self.interrupts.is_empty() {
                    true => now - self.settled_s,
                    false => 0.0,
                };
            Some((thread.works[place].1 - has_run_s).max(0.0))
        };
        self.threads.iter().enumerate().find_map(found)
    }

    /// Works for which `goes` holds leave before their end; each is named.
    pub fn remove(&mut self, now: Seconds, goes: impl Fn(u32) -> bool) -> Vec<u32> {
        self.settle(now);
        let interrupting = self.interrupts.iter().map(|work| work.0);
        let mut gone: Vec<u32> = interrupting.filter(|&token| goes(token)).collect();
        self.interrupts.retain(|work| !goes(work.0));
        for at in 0..self.threads.len() {
            let thread = &mut self.threads[at];
            let had_work = !thread.works.is_empty();
            let leaving = thread.works.iter().map(|work| work.0);
            gone.extend(leaving.filter(|&token| goes(token)));
            thread.works.retain(|work| !goes(work.0));
            if had_work && thread.works.is_empty() {
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
        if let Some(work) = self.interrupts.front_mut() {
            work.1 -= passed_s;
        } else if let Some(at) = self.running {
            let running = &mut self.threads[at];
            running.runtime_s += passed_s;
            if let Some(work) = running.works.front_mut() {
                work.1 -= passed_s;
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
        self.queued().filter(is_eligible).min_by(|a, b| {
            let ((a_s, a_runs), (b_s, b_runs)) = (order(a), order(b));
            a_s.total_cmp(&b_s).then(a_runs.cmp(&b_runs))
        })
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
    /// would be kept waiting more often than it is on Linux 6.18 (see the tests).
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
const SLICE_S: Seconds = 2.8e-3;
/// The kernel looks that often, whatever happens (CONFIG_HZ=250).
const TICK_S: Seconds = 4e-3;
/// Two runtimes that are no further apart are one: they are sums of what was counted since a core was
/// idle.
const ROUNDING_S: Seconds = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    const HOG: (u32, u32) = (0, 0);
    const SLEEPER: (u32, u32) = (0, 1);

    /// How late turns of a thread begin that are due every `period_s`, beside one that always
    /// computes: a sleep takes it and the timer some time, and ends too late; who is late does not
    /// sleep. Also the share of turns before which it has slept.
    fn turns_beside_a_hog(period_s: Seconds) -> (Vec<Seconds>, f64) {
        let mut queue = RunQueue::default();
        queue.join(0.0, 0, HOG, 1e9);
        let (mut now, mut slept, mut late_s) = (0.0, 0, Vec::new());
        for turn in 0..20_000 {
            let due_s = f64::from(turn) * period_s;
            let mut taken_s = WORK_S;
            if now < due_s {
                run_until(&mut queue, due_s + SLACK_S);
                (now, taken_s, slept) = (due_s + SLACK_S, SLEEP_S + WORK_S, slept + 1);
            }
            queue.join(now, 1, SLEEPER, taken_s);
            now = loop {
                let end_s = queue.next_end().expect("there is work");
                if queue.take_next() == Some(1) {
                    break end_s;
                }
            };
            late_s.push(now - WORK_S - due_s);
        }
        late_s.sort_by(f64::total_cmp);
        (late_s, f64::from(slept) / 20_000.0)
    }

    /// Ends what does before a time, and says what.
    fn run_until(queue: &mut RunQueue, until_s: Seconds) -> Vec<(u32, Seconds)> {
        let mut ended = Vec::new();
        while let Some(end_s) = queue.next_end().filter(|&end_s| end_s < until_s) {
            ended.extend(queue.take_next().map(|token| (token, end_s)));
        }
        ended
    }

    /// As two such threads on one core of Linux 6.18: at 83 us turns are 64 us late in the median
    /// and 2.1 ms in the 99th percentile, 96 of 100 after a sleep; at 50 us 63 us, 3.4 ms and 46.
    #[test]
    fn who_computes_less_than_its_share_is_seldom_kept_waiting() {
        for (period_s, wanted) in [(83e-6, 0.88..=1.0), (50e-6, 0.42..=0.52)] {
            let (late_s, slept) = turns_beside_a_hog(period_s);
            let usual_s = SLACK_S + SLEEP_S;
            let at = |share: f64| late_s[(share * 19_999.0) as usize];
            assert!((at(0.5) - usual_s).abs() < 1e-6, "{}", at(0.5));
            assert!((at(0.9) - usual_s).abs() < 1e-6, "{}", at(0.9));
            let longest_s = at(1.0);
            assert!(longest_s > 0.5 * SLICE_S, "now and then: {longest_s}");
            assert!(longest_s < SLICE_S + 2.0 * usual_s, "{longest_s}");
            assert!(wanted.contains(&slept), "{slept}");
        }
    }

    #[test]
    fn who_has_slept_for_long_has_no_more_credit_than_others() {
        let mut queue = RunQueue::default();
        queue.join(0.0, 0, SLEEPER, 1e-3);
        queue.join(0.0, 1, HOG, 9.0);
        assert_eq!(run_until(&mut queue, 2.0)[0].0, 0); // it falls asleep while ahead
        queue.join(2.0, 2, SLEEPER, 1.0);
        // From then on both get the same.
        let left_s = [1, 2].map(|token| queue.left(2.0, token).expect("it is there"));
        run_until(&mut queue, 2.5);
        let had_s: Vec<_> = [1, 2]
            .iter()
            .zip(left_s)
            .map(|(&token, left_s)| left_s - queue.left(2.5, token).unwrap_or(0.0))
            .collect();
        assert!((had_s[0] - had_s[1]).abs() < 2.0 * SLICE_S, "{had_s:?}");
    }

    /// For how long a thread of 48 us every 200 us computes, where another wakes 20 us later.
    fn taken_s(other_s: Seconds) -> Vec<Seconds> {
        let mut queue = RunQueue::default();
        let mut taken_s = Vec::new();
        for turn in 0..5_000 {
            let start_s = f64::from(turn) * 200e-6;
            let before = run_until(&mut queue, start_s);
            queue.join(start_s, 0, HOG, 48e-6);
            let ended = run_until(&mut queue, start_s + 20e-6);
            assert!(
                before.iter().chain(&ended).all(|end| end.0 == 1),
                "of the other"
            );
            queue.join(start_s + 20e-6, 1, SLEEPER, other_s);
            let ended = run_until(&mut queue, start_s + 200e-6);
            let own = ended.iter().find(|end| end.0 == 0).expect("it ends");
            taken_s.push(own.1 - start_s);
        }
        taken_s.sort_by(f64::total_cmp);
        taken_s
    }

    /// On Linux 6.18 a lighter one interrupts a quarter to a half of the times, a heavier one less.
    #[test]
    fn who_wakes_lets_one_finish_that_is_not_ahead() {
        let heavier = taken_s(60e-6);
        assert!(heavier[4_000] < 48.1e-6, "{}", heavier[4_000]);
        let lighter = taken_s(20e-6);
        let interrupted = lighter.iter().filter(|&&taken_s| taken_s > 60e-6).count();
        assert!((1_000..3_000).contains(&interrupted), "{interrupted}");
    }

    #[test]
    fn an_interrupt_comes_before_all_and_is_nobodys_runtime() {
        let mut queue = RunQueue::default();
        queue.join(0.0, 0, HOG, 3.0);
        queue.interrupt(1.0, 1, 0.5);
        assert_eq!(queue.left(1.25, 0), Some(2.0));
        assert_eq!(queue.left(1.25, 1), Some(0.25));
        assert_eq!(run_until(&mut queue, 9.0), [(1, 1.5), (0, 3.5)]);
        assert!(queue.next_end().is_none());
    }

    #[test]
    fn a_thread_that_goes_on_at_once_has_not_slept() {
        let mut queue = RunQueue::default();
        queue.join(0.0, 0, HOG, 1e-3);
        queue.join(0.0, 1, SLEEPER, 1e-3);
        assert_eq!((queue.next_end(), queue.take_next()), (Some(1e-3), Some(0)));
        queue.join(1e-3, 2, HOG, 1e-3);
        // It goes on although the other is behind: nobody has looked, as nobody fell asleep.
        assert_eq!(run_until(&mut queue, 9.0)[0], (2, 2e-3));
    }

    #[test]
    fn who_leaves_is_named_and_the_others_go_on() {
        let mut queue = RunQueue::default();
        queue.join(0.0, 0, HOG, 1.0);
        queue.join(0.0, 1, SLEEPER, 1.0);
        queue.interrupt(0.0, 2, 1.0);
        assert_eq!(queue.remove(0.5, |token| token != 1), [2, 0]);
        assert_eq!(run_until(&mut queue, 9.0), [(1, 1.5)]);
    }

    #[test]
    fn all_work_ends_and_no_core_time_is_lost() {
        let mut state = 1_u64;
        let mut draw = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let mut queue = RunQueue::default();
        // So late that dates are rounded to 1.5e-11 s.
        let (mut now, mut idle_from_s, mut given, mut ended) = (1e5, 1e5, 0, 0);
        for _ in 0..200_000 {
            let until_s = now + 1e-6 * draw(60) as f64;
            let mut more = 1;
            now = until_s;
            if let Some(end_s) = queue.next_end().filter(|&end_s| end_s <= until_s) {
                now = end_s;
                let is_over = queue.take_next().is_some();
                ended += u32::from(is_over);
                more = if is_over { draw(3) } else { 0 }; // some go on at once, and wake others
            }
            for _ in 0..more {
                let core_s = 1e-6 * (1 + draw(40)) as f64;
                idle_from_s = f64::max(idle_from_s, now) + core_s;
                match draw(10) {
                    0 => queue.interrupt(now, given, core_s),
                    _ => queue.join(now, given, (0, draw(4) as u32), core_s),
                }
                given += 1;
            }
        }
        while let Some(end_s) = queue.next_end() {
            now = end_s;
            ended += u32::from(queue.take_next().is_some());
        }
        assert_eq!(given, ended);
        assert!((now - idle_from_s).abs() < 1e-6, "{now} {idle_from_s}");
    }

    const WORK_S: Seconds = 14e-6;
    const SLEEP_S: Seconds = 12.6e-6;
    const SLACK_S: Seconds = 50e-6;
}
