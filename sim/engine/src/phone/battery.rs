//! Batteries: what is left in them, when a phone dies of it, and when it is back.
//!
//! A level is linear between changes of the plan: a charger gives, the rest of the phone takes, and a
//! full battery takes no more. What the run's account of energy charges a phone comes off in steps,
//! at the moment at which it is charged: of work when it begins, of a datagram on a link of its own
//! when it is queued, of a radio's tail when the radio is next active or off. So the level is that of
//! the account, and off from a meter's by one tail and by what is under way.
//!
//! A death is exact by this account. Each phone has one date: half way to the death that is
//! foreseen without the app, or, within [`LOOK_S`], that death itself. Until then the app may take
//! what the lowest level on the way leaves (`spare_j`) without a look; if it takes more, the date is
//! found anew, also when that is earlier. A dead phone draws nothing.
//!
//! What deliberately does not live here: what the app takes ([`crate::record::energy`]), and what
//! becomes of a phone that goes off (`crate::driver::power`).

use pocketsim_protocols::contract::Seconds;

use crate::plan;

/// The batteries of one run; inputs must not go back in time.
#[derive(Debug)]
pub struct Batteries {
    given: plan::Battery,
    end_s: Seconds,
    /// By phone.
    levels: Vec<Level>,
    deaths: u64,
    dead_s: Seconds,
    app_j: f64,
    other_j: f64,
}

/// What batteries came to.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct BatterySummary {
    /// Phones that have one.
    pub phones: u64,
    /// How often one died.
    pub deaths: u64,
    /// How long phones were dead, all together, seconds.
    pub dead_s: Seconds,
    /// What the app took, as charged, joules.
    pub app_j: f64,
    /// What the rest of the phones took, joules.
    pub other_j: f64,
    /// Levels at the end, as shares of what full ones hold, all together.
    pub level_end_ratio_sum: f64,
}

/// What becomes of a phone at a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Look,
    Death,
    Revival,
}

/// A phone's battery at a moment.
#[derive(Clone, Debug)]
struct Level {
    since_s: Seconds,
    level_j: f64,
    other_w: f64,
    charge_w: f64,
    /// The row of its next change, and the one behind its last.
    next: usize,
    end: usize,
    is_dead: bool,
    /// Whether its owner has it on.
    is_wanted: bool,
    /// What the app may take before somebody must look.
    spare_j: f64,
    date: (Seconds, Next),
    /// How often its date was set: others are void.
    version: u32,
}

/// What lies before a phone if the app takes nothing.
struct Way {
    lowest_j: f64,
    /// When it dies, or a dead one is back.
    turns_s: Option<Seconds>,
}

impl Batteries {
    /// Full to the plan's levels, at time 0; nobody has looked yet.
    pub fn new(given: plan::Battery, end_s: Seconds) -> Self {
        let mut next = 0;
        let starts = given.level_j.iter().zip(0..).map(|(&level_j, phone)| {
            let first = next;
            next += given.phone[first..].partition_point(|&whose| whose == phone);
            Level {
                since_s: 0.0,
                level_j,
                other_w: 0.0,
                charge_w: 0.0,
                next: first,
                end: next,
                is_dead: false,
                is_wanted: true,
                spare_j: 0.0,
                date: (Seconds::INFINITY, Next::Look),
                version: 0,
            }
        });
        let levels = starts.collect();
        Self {
            given,
            end_s,
            levels,
            deaths: 0,
            dead_s: 0.0,
            app_j: 0.0,
            other_j: 0.0,
        }
    }

    /// The owner of `phone` has it on or off. Whether it is on, then.
    pub fn want(&mut self, phone: u32, on: bool) -> bool {
        let level = &mut self.levels[phone as usize];
        level.is_wanted = on;
        on && !level.is_dead
    }

    /// Whether `phone` is on: its owner has it on, and it is not dead.
    pub fn is_on(&self, phone: u32) -> bool {
        let level = &self.levels[phone as usize];
        level.is_wanted && !level.is_dead
    }

    /// The app takes `joules` of `phone` at `now`, or gives them back. Whether somebody must look.
    pub fn take(&mut self, now: Seconds, phone: u32, joules: f64) -> bool {
        let capacity_j = self.given.capacity_j[phone as usize];
        if capacity_j.is_infinite() {
            return false;
        }
        self.advance(phone, now);
        self.app_j += joules;
        let level = &mut self.levels[phone as usize];
        if level.is_dead {
            return false;
        }
        level.level_j = (level.level_j - joules).clamp(0.0, capacity_j);
        // What is given back may be lost to a battery that is full on the way.
        level.spare_j -= joules.max(0.0);
        level.spare_j < 0.0 || level.level_j <= 0.0
    }

    /// The date `version` of `phone` has come. Whether it counts.
    pub fn is_due(&self, phone: u32, version: u32) -> bool {
        self.levels[phone as usize].version == version
    }

    /// Looks at `phone` at `now`, which may die or be back. The next date at which somebody must look
    /// again, with its version.
    pub fn look(&mut self, now: Seconds, phone: u32) -> Option<(Seconds, u32)> {
        self.advance(phone, now);
        let revives_j = self.given.revives_j[phone as usize];
        let level = &mut self.levels[phone as usize];
        let (date_s, next) = level.date;
        let is_now = date_s <= now;
        if !level.is_dead && (level.level_j <= 0.0 || (is_now && next == Next::Death)) {
            (level.is_dead, level.level_j) = (true, 0.0);
            self.deaths += 1;
        } else if level.is_dead && is_now && next == Next::Revival {
            (level.is_dead, level.level_j) = (false, revives_j);
        }
        self.set_date(now, phone)
    }

    /// What they come to when the run ends.
    pub fn close(&mut self) -> BatterySummary {
        let mut summary = BatterySummary::default();
        for phone in 0..self.levels.len() {
            self.advance(phone as u32, self.end_s);
            let capacity_j = self.given.capacity_j[phone];
            if capacity_j.is_finite() {
                summary.phones += 1;
                summary.level_end_ratio_sum += self.levels[phone].level_j / capacity_j;
            }
        }
        BatterySummary {
            deaths: self.deaths,
            dead_s: self.dead_s,
            app_j: self.app_j,
            other_j: self.other_j,
            ..summary
        }
    }

    fn set_date(&mut self, now: Seconds, phone: u32) -> Option<(Seconds, u32)> {
        let way = self.foresee(phone, self.end_s);
        let is_dead = self.levels[phone as usize].is_dead;
        let (date, spare_j) = match way.turns_s {
            Some(date_s) if is_dead => ((date_s, Next::Revival), f64::INFINITY),
            Some(date_s) if date_s - now <= LOOK_S => ((date_s, Next::Death), 0.0),
            Some(date_s) => {
                let half_s = now + (date_s - now) / 2.0;
                let spare_j = self.foresee(phone, half_s).lowest_j;
                ((half_s, Next::Look), spare_j)
            }
            None => ((Seconds::INFINITY, Next::Look), way.lowest_j),
        };
        let level = &mut self.levels[phone as usize];
        (level.date, level.spare_j) = (date, spare_j);
        level.version += 1;
        date.0.is_finite().then_some((date.0, level.version))
    }

    /// Follows the level of `phone` until `until_s` as if the app took nothing.
    fn foresee(&self, phone: u32, until_s: Seconds) -> Way {
        let (capacity_j, revives_j) = (
            self.given.capacity_j[phone as usize],
            self.given.revives_j[phone as usize],
        );
        let mut at = self.levels[phone as usize].clone();
        let mut lowest_j = at.level_j;
        loop {
            let stop_s = self.next_change_s(&at).min(until_s);
            let (slope_w, goal_j) = match at.is_dead {
                true => (at.charge_w, revives_j),
                false => (at.slope_w(), 0.0),
            };
            let turns_s = at.since_s + (goal_j - at.level_j) / slope_w;
            let approaches = (goal_j - at.level_j) * slope_w > 0.0;
            if approaches && turns_s <= stop_s {
                return Way {
                    lowest_j: lowest_j.min(goal_j),
                    turns_s: Some(turns_s),
                };
            }
            at.flow(stop_s, capacity_j);
            lowest_j = lowest_j.min(at.level_j);
            if !self.change(&mut at, until_s) {
                return Way {
                    lowest_j,
                    turns_s: None,
                };
            }
        }
    }

    /// Brings the level of `phone` to `now`.
    fn advance(&mut self, phone: u32, now: Seconds) {
        let capacity_j = self.given.capacity_j[phone as usize];
        loop {
            let mut at = self.levels[phone as usize].clone();
            let flowed_s = at.flow(self.next_change_s(&at).min(now), capacity_j);
            match at.is_dead {
                true => self.dead_s += flowed_s,
                false => self.other_j += flowed_s * at.other_w,
            }
            let changed = self.change(&mut at, now);
            self.levels[phone as usize] = at;
            if !changed {
                return;
            }
        }
    }

    /// Makes the next change if it is due by `until_s`. Whether it was.
    fn change(&self, at: &mut Level, until_s: Seconds) -> bool {
        let is_due = self.next_change_s(at) <= until_s;
        if is_due {
            (at.other_w, at.charge_w) = (self.given.other_w[at.next], self.given.charge_w[at.next]);
            at.next += 1;
        }
        is_due
    }

    fn next_change_s(&self, at: &Level) -> Seconds {
        match at.next < at.end {
            true => self.given.time_s[at.next],
            false => Seconds::INFINITY,
        }
    }
}

impl Level {
    /// Watts into the battery.
    fn slope_w(&self) -> f64 {
        match self.is_dead {
            true => self.charge_w,
            false => self.charge_w - self.other_w,
        }
    }

    /// Goes on as it is until `until_s`. How long that took.
    fn flow(&mut self, until_s: Seconds, capacity_j: f64) -> Seconds {
        let flowed_s = (until_s - self.since_s).max(0.0);
        let level_j = self.level_j + flowed_s * self.slope_w();
        self.level_j = level_j.clamp(0.0, capacity_j);
        self.since_s += flowed_s;
        flowed_s
    }
}

/// A death that is foreseen within so long is waited for itself.
const LOOK_S: Seconds = 1.0;
