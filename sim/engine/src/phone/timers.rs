//! Timeouts of the machines of phones: when they are looked at, and fed.

use pocketsim_protocols::contract::{Application, Seconds, Transport};

use crate::events::sim_context::{Due, Layer, SimContext};
use crate::phone::executor::Lanes;
use crate::resources::World;

impl<A: Application, T: Transport<A::Block>> Lanes<A, T> {
    /// Some applications want to be woken before anything happens to them.
    pub(crate) fn arm_applications<W: World>(&mut self, context: &mut SimContext<W>) {
        for phone in 0..self.phones.len() as u32 {
            self.arm(context, phone, Layer::Application);
        }
    }

    /// A phone that comes back is woken for what came due meanwhile, too.
    pub(crate) fn wake<W: World>(&mut self, context: &mut SimContext<W>, phone: u32) {
        self.arm(context, phone, Layer::Application);
        self.arm(context, phone, Layer::Transport);
    }

    /// It is time to look at a timeout that was armed in `epoch`.
    pub(crate) fn look<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        layer: Layer,
        phone: u32,
        epoch: u32,
    ) {
        if context.epoch(phone) != epoch {
            return; // It has been off since, and is armed anew when it is on.
        }
        if self.phones[phone as usize].ring(layer, context.now()) {
            self.post_timeout(context, phone, layer);
        } else {
            self.arm(context, phone, layer);
        }
    }

    /// A lane has come to a timeout: its machine is told, if it still is due.
    pub(crate) fn feed_timeout<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        layer: Layer,
    ) {
        if !self.phones[phone as usize].silence(layer, context.now()) {
            return self.arm(context, phone, layer); // It was put off while it waited.
        }
        match layer {
            Layer::Application => self.ask_app(context, phone, at, |app, now, out| {
                app.handle_timeout(now, out);
            }),
            Layer::Transport => self.ask_net(context, phone, at, |transport, now, out| {
                transport.handle_timeout(now, out);
            }),
        }
    }

    /// Whoever has acted is looked at again when its machine says.
    ///
    /// With timers that tick, a transport's alarm rings when its runtime would wake up for it; a
    /// runtime that is awake has looked at the clock (quinn 0.11.12, `drive_timer`).
    pub(crate) fn arm<W: World>(&mut self, context: &mut SimContext<W>, phone: u32, layer: Layer) {
        let (now, at) = (context.now(), phone as usize);
        let tick_s = if layer == Layer::Transport {
            self.timer_tick_s
        } else {
            0.0
        };
        if tick_s > 0.0 && self.phones[at].ring(layer, now) {
            return self.post_timeout(context, phone, layer);
        }
        if let Some(date) = self.phones[at].arm(layer) {
            let date = rings_at(date, tick_s, now);
            context.push(date, Due::Timeout(layer, phone, context.epoch(phone)));
        }
    }
}

/// When a runtime that goes to sleep now is woken for `date`, if its timers have ticks; 0 for none.
///
/// Dates are rounded up to whole ticks, and so many of them from now on as there are between that
/// of the moment, rounded down, and that of the date (tokio 1.54.1, `TimeSource::deadline_to_tick`
/// and `Driver::park_internal`): 0 to 2 ticks late, one in the mean. Ticks begin with the run.
fn rings_at(date: Seconds, tick_s: Seconds, now: Seconds) -> Seconds {
    if tick_s <= 0.0 || date <= now {
        return date;
    }
    let ticks = (date / tick_s).ceil() - (now / tick_s).floor();
    // Rounding must not make it ring before its time.
    date.max(now + ticks * tick_s)
}

#[cfg(test)]
mod tests {
    use super::rings_at;

    #[test]
    fn without_ticks_a_timer_is_exact() {
        assert_eq!(rings_at(0.0071, 0.0, 0.005), 0.0071);
    }

    #[test]
    fn with_ticks_it_rings_whole_ticks_after_going_to_sleep() {
        // 1.1 ms, from 0.3 and from 0.95 ms after a tick.
        for (now, rings) in [(0.0053, 0.0073), (0.00595, 0.00895)] {
            let found = rings_at(now + 0.0011, 0.001, now);
            assert!((found - rings).abs() < 1e-9, "{found} instead of {rings}");
        }
    }

    #[test]
    fn what_is_due_does_not_wait_for_a_tick() {
        assert_eq!(rings_at(0.005, 0.001, 0.0052), 0.005);
    }
}
