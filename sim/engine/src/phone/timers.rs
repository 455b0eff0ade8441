//! Timers of the machines of phones: exact, or in the ticks of a runtime.
//!
//! What deliberately does not live here: who is woken ([`crate::phone::executor`]).

use pocketsim_protocols::contract::Seconds;

use crate::events::sim_context::Layer;

/// The timers of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// Of transports' timers; 0 for exact ones.
    tick_s: Seconds,
}

impl Timers {
    /// Those of applications are exact, those of transports have ticks of `tick_s`; 0 for none.
    pub(crate) fn new(tick_s: Seconds) -> Self {
        Self { tick_s }
    }

    /// Whether those of a layer have ticks.
    pub(crate) fn have_ticks(self, layer: Layer) -> bool {
        layer == Layer::Transport && self.tick_s > 0.0
    }

    /// When a timer of a layer rings that is set now for `date`.
    pub(crate) fn rings_at(self, layer: Layer, date: Seconds, now: Seconds) -> Seconds {
        match layer {
            Layer::Application => date,
            Layer::Transport => rings_at(date, self.tick_s, now),
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
