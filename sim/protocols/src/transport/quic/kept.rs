//! The rhythm that two ends of a silent connection keep: when each would have pinged.
//!
//! What deliberately does not live here: what a ping is, and where no rhythm lasts.

use crate::contract::{Rhythm, Seconds};

/// The rhythms of both ends, which they keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    pub own: Rhythm,
    pub other: Rhythm,
}

/// How often the two ends would have pinged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    pub own: u64,
    pub other: u64,
}

impl Kept {
    /// A rest of both ends; none if they do not ping in turn, as after a delay of one of them.
    pub fn new(own: Rhythm, other: Rhythm) -> Option<Self> {
        let rest = Self { own, other };
        let (first, second) = rest.in_order();
        (first.asked_s <= second.asked_s && second.asked_s < first.asks_s).then_some(rest)
    }

    /// Whose ping comes next, and the other; the same at both ends.
    fn in_order(&self) -> (Rhythm, Rhythm) {
        match self.is_first() {
            true => (self.own, self.other),
            false => (self.other, self.own),
        }
    }

    pub fn is_first(&self) -> bool {
        (self.own.asks_s, self.own.asked_s) <= (self.other.asks_s, self.other.asked_s)
    }

    /// Between two pings of one end.
    fn round_s(&self) -> Seconds {
        let (first, _) = self.in_order();
        first.asks_s - first.asked_s
    }

    /// How often each end would have pinged by `now`.
    pub fn rounds(&self, now: Seconds) -> Rounds {
        let round_s = self.round_s();
        let (first, second) = self.in_order();
        let asked = count(now, first.asks_s, round_s);
        let answered = count(now, second.asked_s + round_s, round_s);
        match self.is_first() {
            true => Rounds {
                own: asked,
                other: answered,
            },
            false => Rounds {
                own: answered,
                other: asked,
            },
        }
    }

    /// When this end would ping after those if it heard nothing more.
    pub fn asks_s(&self, rounds: Rounds) -> Seconds {
        let (round_s, pings) = (self.round_s(), rounds.own as f64);
        if rounds.own == rounds.other {
            return self.own.asks_s + pings * round_s;
        }
        let asked_s = self.own.asked_s + pings * round_s;
        match self.is_first() {
            // It was the last to ping, as the other was when both came to rest.
            true => asked_s + self.other.asks_s - self.other.asked_s,
            false => asked_s + round_s,
        }
    }
}

/// How many of the dates from `first_s` on, `interval_s` apart, have come by `now`.
pub fn count(now: Seconds, first_s: Seconds, interval_s: Seconds) -> u64 {
    match first_s <= now {
        true => ((now - first_s) / interval_s) as u64 + 1,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SILENCE_S: Seconds = 1.0;
    /// What comes restarts a timer for so much longer than what leaves.
    const TIE_S: Seconds = 1e-6;
    const HELD_S: Seconds = 0.025;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum What {
        Alarm,
        Ping,
        Hold,
        Answer,
    }

    /// Two ends that ping and answer, one event after the other, on ways of their own length.
    #[derive(Clone, Debug)]
    struct Model {
        ways_s: [Seconds; 2],
        rhythms: [Rhythm; 2],
        pings: [u64; 2],
        events: Vec<(Seconds, What, usize)>,
    }

    impl Model {
        fn new(ways_s: [Seconds; 2], ahead_s: Seconds) -> Self {
            let rhythm = |asks_s| Rhythm {
                asked_s: 0.0,
                asks_s,
                probes_s: Seconds::INFINITY,
            };
            let rhythms = [rhythm(1.0), rhythm(1.0 + ahead_s)];
            Self {
                ways_s,
                rhythms,
                pings: [0; 2],
                events: (0..2)
                    .map(|end| (rhythms[end].asks_s, What::Alarm, end))
                    .collect(),
            }
        }

        /// Whether nothing is on its way.
        fn is_quiet(&self) -> bool {
            self.events.iter().all(|event| event.1 == What::Alarm)
        }

        fn next_s(&self) -> Seconds {
            let dates = self.events.iter().map(|event| event.0);
            dates.fold(Seconds::INFINITY, Seconds::min)
        }

        fn step(&mut self) {
            let next_s = self.next_s();
            let at = self.events.iter().position(|event| event.0 == next_s);
            let (now, what, end) = self.events.remove(at.expect("there is one"));
            let way_s = self.ways_s[end];
            match what {
                What::Alarm => {
                    self.pings[end] += 1;
                    self.rhythms[end].asked_s = now;
                    self.events.push((now + way_s, What::Ping, 1 - end));
                }
                What::Ping => self.events.push((now + HELD_S, What::Hold, end)),
                What::Hold => self.events.push((now + way_s, What::Answer, 1 - end)),
                What::Answer => {}
            }
            let comes = matches!(what, What::Ping | What::Answer);
            self.restart(if comes { now + TIE_S } else { now }, end);
        }

        /// A packet has left this end or come to it.
        fn restart(&mut self, now: Seconds, end: usize) {
            let asks_s = now + SILENCE_S;
            self.rhythms[end].asks_s = asks_s;
            self.events
                .retain(|event| event.1 != What::Alarm || event.2 != end);
            self.events.push((asks_s, What::Alarm, end));
        }
    }

    proptest! {
        #[test]
        fn both_ends_go_on_as_if_they_had_pinged(
            way_ms in 1..80u32,
            back_ms in 1..80u32,
            ahead_ms in 0..200u32,
            steps in 1..400usize,
        ) {
            let ways_s = [way_ms, back_ms].map(|ms| f64::from(ms) * 1e-3);
            // Not just as much as a way takes, where it is chance who pings first.
            let mut model = Model::new(ways_s, (f64::from(ahead_ms) + 0.5) * 1e-3);
            while model.pings.contains(&0) || !model.is_quiet() {
                model.step();
            }
            let [one, other] = model.rhythms;
            let rests = [Kept::new(one, other), Kept::new(other, one)];
            let before = model.pings;
            (0..steps).for_each(|_| model.step());
            while !model.is_quiet() {
                model.step();
            }
            let now = model.next_s() - 1e-6;
            for (end, rest) in rests.into_iter().enumerate() {
                let rest = rest.expect("they ping in turn");
                let rounds = rest.rounds(now);
                let pings = [rounds.own, rounds.other];
                let due = [end, 1 - end].map(|end| model.pings[end] - before[end]);
                prop_assert_eq!(pings, due);
                let off_s = rest.asks_s(rounds) - model.rhythms[end].asks_s;
                prop_assert!(off_s.abs() < 1e-6, "end {}: {}", end, off_s);
            }
        }
    }

    #[test]
    fn ends_that_do_not_ping_in_turn_do_not_rest() {
        let rhythm = |asked_s, asks_s| Rhythm {
            asked_s,
            asks_s,
            probes_s: Seconds::INFINITY,
        };
        let cases = [
            ("in turn", rhythm(1.0, 3.0), rhythm(2.0, 3.1), true),
            ("at once", rhythm(1.0, 2.1), rhythm(1.0, 2.1), true),
            ("twice the same", rhythm(2.0, 3.0), rhythm(1.0, 3.1), false),
            ("long ago", rhythm(1.0, 2.0), rhythm(2.5, 3.1), false),
        ];
        for (what, one, other, may) in cases {
            let rests = [Kept::new(one, other), Kept::new(other, one)];
            assert_eq!(rests.map(|rest| rest.is_some()), [may; 2], "{what}");
        }
    }

    #[test]
    fn dates_are_counted_from_the_first_on() {
        let counts = [0.9, 1.0, 2.9, 3.0].map(|now| count(now, 1.0, 2.0));
        assert_eq!(counts, [0, 1, 1, 2]);
        assert_eq!(count(9.0, Seconds::INFINITY, 5.0), 0);
    }
}
