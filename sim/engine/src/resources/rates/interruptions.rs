//! Times in which the link of one phone carries nothing: handovers between cells, and changes of
//! radio technology.
//!
//! Of each kind the next begins an exponential time after the one before, of mean 1 over its rate,
//! and takes a lognormal time, or always the same. What deliberately does not live here: loss, since
//! what waits for the link to come back is not lost.

use std::collections::VecDeque;

use pocketsim_protocols::contract::Seconds;

use crate::base::rng::Stream;
use crate::plan::{Access, Interruption};

/// Those of one phone, as far as they are drawn.
#[derive(Debug)]
pub struct Interruptions {
    kinds: Vec<Kind>,
    /// Begin and end, in order of begins; all until the last are there.
    drawn_s: VecDeque<[Seconds; 2]>,
}

#[derive(Debug)]
struct Kind {
    law: Interruption,
    stream: Stream,
    next_s: Seconds,
}

impl Interruptions {
    /// Those of `phone` on a network; none where nothing interrupts.
    pub fn new(access: &Access, seed: u64, phone: u32) -> Option<Self> {
        let named = [
            ("handover", access.handover),
            ("rat_change", access.rat_change),
        ];
        let kinds = named.into_iter().filter_map(|(name, law)| {
            let mut kind = Kind {
                law: law?,
                stream: Stream::new(seed, name, phone),
                next_s: 0.0,
            };
            kind.next_s = kind.gap_s();
            Some(kind)
        });
        let kinds: Vec<Kind> = kinds.collect();
        (!kinds.is_empty()).then(|| Self {
            kinds,
            drawn_s: VecDeque::new(),
        })
    }

    /// The first that ends after `date_s`, begin and end; what ended until `now` is forgotten.
    pub fn next(&mut self, now: Seconds, date_s: Seconds) -> [Seconds; 2] {
        while self.drawn_s.front().is_some_and(|&[_, end_s]| end_s <= now) {
            self.drawn_s.pop_front();
        }
        loop {
            if let Some(&found) = self.drawn_s.iter().find(|&&[_, end_s]| end_s > date_s) {
                return found;
            }
            self.draw();
        }
    }

    /// Those that are drawn and not forgotten.
    pub fn drawn(&self) -> impl Iterator<Item = [Seconds; 2]> + '_ {
        self.drawn_s.iter().copied()
    }

    /// Draws the one that begins next.
    fn draw(&mut self) {
        let kinds = self.kinds.iter_mut();
        let sooner = |one: &&mut Kind, other: &&mut Kind| one.next_s.total_cmp(&other.next_s);
        let kind = kinds.min_by(sooner).expect("there is one");
        let (begin_s, law) = (kind.next_s, kind.law);
        let end_s = begin_s
            + kind
                .stream
                .lognormal(law.interruption_s, law.interruption_sigma);
        kind.next_s = end_s + kind.gap_s();
        self.drawn_s.push_back([begin_s, end_s]);
    }
}

impl Kind {
    fn gap_s(&mut self) -> Seconds {
        -(1.0 - self.stream.uniform()).ln() / self.law.rate_per_s
    }
}
