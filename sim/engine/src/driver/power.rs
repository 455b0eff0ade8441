//! Phones that die of an empty battery, and come back: they go off and on as by churn.
//!
//! A phone is on when its owner has it on and its battery is not empty. What the app has taken comes
//! off when everything of an event is done. What deliberately does not live here: levels
//! ([`crate::phone::battery`]).

use pocketsim_protocols::contract::{Application, Transport};

use crate::driver::Driver;
use crate::events::sim_context::Due;
use crate::phone::battery::BatterySummary;
use crate::resources::World;

impl<A: Application, T: Transport<A::Block>, W: World> Driver<A, T, W> {
    /// What batteries came to at the end of the run; none where phones have none.
    pub fn battery_summary(&mut self) -> Option<BatterySummary> {
        Some(self.batteries.as_mut()?.close())
    }

    /// Looks at every battery for the first time.
    pub(super) fn look_at_all(&mut self, phones: u32) {
        if self.batteries.is_some() {
            (0..phones).for_each(|phone| self.look_at(phone));
        }
    }

    /// The owner of `phone` turns it on or off.
    pub(super) fn want(&mut self, phone: u32, on: bool) {
        let batteries = self.batteries.as_mut();
        let on = batteries.map_or(on, |batteries| batteries.want(phone, on));
        self.turn(phone, on);
    }

    /// A date of a phone's battery has come.
    pub(super) fn take_battery(&mut self, phone: u32, version: u32) {
        let batteries = self.batteries.as_ref();
        if batteries.is_some_and(|batteries| batteries.is_due(phone, version)) {
            self.look_at(phone);
        }
    }

    /// What phones were charged in this event comes off their batteries.
    pub(super) fn drain(&mut self) {
        if self.batteries.is_none() {
            return;
        }
        let now = self.context.now();
        while let Some((phone, joules)) = self.recorder.next_charge() {
            let batteries = self.batteries.as_mut();
            if batteries.is_some_and(|batteries| batteries.take(now, phone, joules)) {
                self.look_at(phone);
                self.settle();
            }
        }
    }

    fn look_at(&mut self, phone: u32) {
        let now = self.context.now();
        let Some(batteries) = &mut self.batteries else {
            return;
        };
        if let Some((date_s, version)) = batteries.look(now, phone) {
            self.context
                .push_first(date_s, Due::Battery(phone, version));
        }
        let on = batteries.is_on(phone);
        self.turn(phone, on);
    }

    fn turn(&mut self, phone: u32, on: bool) {
        match (self.context.is_on(phone), on) {
            (false, true) => self.turn_on(phone),
            (true, false) => self.turn_off(phone),
            _ => {}
        }
    }
}
