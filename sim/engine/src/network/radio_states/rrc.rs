//! A radio that sleeps: idle, waking up, connected, and connected but listening at times only.
//!
//! Words are those of 3GPP: RRC connection and its release after inactivity (TS 36.331 and 38.331,
//! 5.3), discontinuous reception, scheduling requests and HARQ (TS 36.321 and 38.321, 5.7 and 5.4),
//! paging (TS 36.304 and 38.304, 7). With promotion T, inactivity timer I, DRX cycle L, on-duration
//! O, paging cycle C and period of scheduling requests P, what a datagram waits for is
//!
//! | state | to be sent | to be received |
//! |---|---|---|
//! | idle | T | until the next paging occasion, every C; then T |
//! | waking up | what is left of T | the same |
//! | connected, with something to send | nothing | nothing |
//! | connected, else | U(0, P) and the grant's delay | nothing until the DRX inactivity timer expires, then until the next on-duration: every L, O long |
//!
//! It is idle again when nothing was on the air for I. Datagrams that come one by one at rate l wait
//! (T + l T^2 / 2) / (l T + exp(l I)) on average to be sent, and 1 / (l T + exp(l I)) of them
//! promote; in DRX they wait (L - O)^2 / (2 L) to be received, idle C / 2 + T. The power save of
//! Wi-Fi is the same with T = 0: I is how long a phone stays awake, C the time between two DTIM
//! beacons (IEEE 802.11, 11.2.3).
//!
//! What joules such a radio takes is added up elsewhere ([`crate::record::energy`]), of what
//! [`Rrc`] says that it did: it promotes and is connected here or nowhere. What deliberately does
//! not live here: datagrams that wait ([`super::RadioStates`]), and how long the air takes.

use pocketsim_protocols::contract::Seconds;

use crate::base::rng::Stream;
use crate::plan::States;
use crate::record::energy::Wake;
use crate::resources::radio::Direction;

/// The state of one phone's radio; inputs must not go back in time.
pub(crate) struct Rrc {
    law: States,
    /// Where in their cycles on-durations and paging occasions begin, seconds.
    drx_phase_s: Seconds,
    paging_phase_s: Seconds,
    requests: Stream,
    /// By direction.
    retransmissions: [Stream; 2],
    state: State,
}

/// What changes.
#[derive(Clone, Copy)]
struct State {
    /// When it is connected, or was.
    ready_s: Seconds,
    /// When what waits to be sent has its grant, or had.
    grant_s: Seconds,
    /// Until when what it has been given to send keeps it busy.
    sending_until_s: Seconds,
    /// When it was last active, which timers run from; never, it is idle.
    active_until_s: Seconds,
    /// Datagrams on air that it shares, by direction: nobody knows until when.
    on_air: [u32; 2],
    /// Until when its time is accounted for.
    settled_s: Seconds,
}

/// When a radio may receive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Listens {
    /// At once.
    Now,
    /// Then.
    At(Seconds),
    /// Then it hears that it is to wake up ([`Rrc::page`]).
    Paged(Seconds),
}

impl State {
    const IDLE: State = State {
        ready_s: Seconds::NEG_INFINITY,
        grant_s: Seconds::NEG_INFINITY,
        sending_until_s: Seconds::NEG_INFINITY,
        active_until_s: Seconds::NEG_INFINITY,
        on_air: [0; 2],
        settled_s: Seconds::INFINITY,
    };
}

impl Rrc {
    /// The idle radio of `phone`.
    pub(crate) fn new(law: States, seed: u64, phone: u32) -> Self {
        let stream = |name: &str| Stream::new(seed, name, phone);
        Self {
            law,
            drx_phase_s: stream("states/drx").uniform() * law.drx_cycle_s,
            paging_phase_s: stream("states/paging").uniform() * law.paging_cycle_s,
            requests: stream("states/sr"),
            retransmissions: [stream("states/harq/up"), stream("states/harq/down")],
            state: State::IDLE,
        }
    }

    /// There is something to send at `now`: when it may be sent. Tells `wake` what that takes.
    pub(crate) fn request(&mut self, now: Seconds, wake: &mut Wake) -> Seconds {
        let state = &self.state;
        if self.is_idle(now) {
            return self.promote(now, wake);
        }
        let waits_until_s = state.ready_s.max(state.grant_s);
        if now < waits_until_s {
            return waits_until_s;
        }
        if state.on_air[Direction::Up as usize] > 0 || now < state.sending_until_s {
            return now;
        }
        let mut wait_s = self.law.grant_delay_s;
        if self.law.sr_periodicity_s > 0.0 {
            wait_s += self.requests.uniform() * self.law.sr_periodicity_s;
        }
        // From its request on a phone listens (TS 36.321, 5.7: a request is pending).
        self.state.grant_s = now + wait_s;
        self.state.active_until_s = self.state.active_until_s.max(now + wait_s);
        self.state.grant_s
    }

    /// There is something for it at `now`: when it may receive that.
    pub(crate) fn listens(&self, now: Seconds) -> Listens {
        let (state, law) = (&self.state, &self.law);
        if self.is_idle(now) {
            return Listens::Paged(next_in(now, self.paging_phase_s, law.paging_cycle_s));
        }
        if now < state.ready_s {
            return Listens::At(state.ready_s);
        }
        let sleeps_from_s = self.last_s() + law.drx_inactivity_timer_s;
        let began_s = next_in(now, self.drx_phase_s, law.drx_cycle_s) - law.drx_cycle_s;
        if law.drx_cycle_s == 0.0 || now <= sleeps_from_s || now < began_s + law.on_duration_s {
            return Listens::Now;
        }
        Listens::At(began_s + law.drx_cycle_s)
    }

    /// It hears at `now` that there is something for it: when it may receive that.
    pub(crate) fn page(&mut self, now: Seconds, wake: &mut Wake) -> Seconds {
        match self.is_idle(now) {
            true => self.promote(now, wake),
            false => self.state.ready_s.max(now),
        }
    }

    /// It is active from `now` until `until_s` at least.
    pub(crate) fn carry(
        &mut self,
        now: Seconds,
        until_s: Seconds,
        direction: Direction,
        wake: &mut Wake,
    ) {
        self.settle(now, until_s, wake);
        let state = &mut self.state;
        state.active_until_s = state.active_until_s.max(until_s);
        if direction == Direction::Up {
            state.sending_until_s = until_s;
        }
    }

    /// A datagram comes on air that it shares, or waits for that.
    pub(crate) fn begin(&mut self, now: Seconds, direction: Direction, wake: &mut Wake) {
        self.settle(now, Seconds::INFINITY, wake);
        self.state.on_air[direction as usize] += 1;
    }

    /// It is out.
    pub(crate) fn end(&mut self, now: Seconds, direction: Direction) {
        let state = &mut self.state;
        state.on_air[direction as usize] -= 1;
        if state.on_air == [0; 2] {
            state.active_until_s = state.active_until_s.max(now);
            state.settled_s = now;
        }
    }

    /// By how much a datagram comes later since blocks of it are sent again, seconds.
    pub(crate) fn retransmission_s(&mut self, direction: Direction) -> Seconds {
        let law = &self.law;
        if law.bler == 0.0 {
            return 0.0;
        }
        // As often as failures come before a success: with probability bler^k k times or more.
        let chance = 1.0 - self.retransmissions[direction as usize].uniform();
        (chance.ln() / law.bler.ln()).floor() * law.harq_delay_s
    }

    /// Its phone goes off at `now`, or the run ends.
    pub(crate) fn switch_off(&mut self, now: Seconds, wake: &mut Wake) {
        self.settle(now, now, wake);
        self.state = State::IDLE;
    }

    fn promote(&mut self, now: Seconds, wake: &mut Wake) -> Seconds {
        self.settle(now, now, wake);
        wake.promotions += 1;
        let ready_s = now + self.law.promotion_s;
        self.state = State {
            ready_s,
            active_until_s: ready_s,
            settled_s: ready_s,
            ..State::IDLE
        };
        ready_s
    }

    /// What it was until `now` is accounted for, and until `until_s`, when it is active.
    fn settle(&mut self, now: Seconds, until_s: Seconds, wake: &mut Wake) {
        let connected_until_s = now.min(self.last_s() + self.law.inactivity_timer_s);
        wake.tail_s += (connected_until_s - self.state.settled_s).max(0.0);
        self.state.settled_s = self.state.settled_s.max(until_s);
    }

    fn is_idle(&self, now: Seconds) -> bool {
        now > self.last_s() + self.law.inactivity_timer_s
    }

    /// Since when timers run; infinite while nobody knows.
    fn last_s(&self) -> Seconds {
        match self.state.on_air {
            [0, 0] => self.state.active_until_s,
            _ => Seconds::INFINITY,
        }
    }
}

/// The first date from `now` on that lies at `phase_s` in a cycle of `cycle_s`; `now` without one.
///
/// What is at `now` itself, but for a rounding, is not passed.
fn next_in(now: Seconds, phase_s: Seconds, cycle_s: Seconds) -> Seconds {
    if cycle_s == 0.0 {
        return now;
    }
    let cycles = (now - phase_s) / cycle_s;
    phase_s + (cycles - ROUNDING).ceil() * cycle_s
}

/// Of a cycle: dates are sums of cycles.
const ROUNDING: f64 = 1e-9;
