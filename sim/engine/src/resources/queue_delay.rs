//! How long datagrams waited in the queues of radios, and how many found no room.
//!
//! A datagram counts once for each radio that took it: a wait ends when its first byte goes out.
//! What deliberately does not live here: queues, and contacts, which have none of their own.

use pocketsim_protocols::contract::Seconds;

use crate::base::histogram::Histogram;
use crate::resources::radio::Direction;

/// What is counted of all radios of a run, up and down.
#[derive(Clone, Debug, Default)]
pub struct QueueDelays {
    /// Of what radios took; its count is of that.
    pub taken: [Histogram; 2],
    /// Datagrams that found no room.
    pub refused: [u64; 2],
    /// By token, of the queue that the datagram was last in; only where a timeline asks for them.
    spans: Option<Vec<Span>>,
}

/// From when to when a datagram waits in a queue; the end is infinite while nobody knows it.
pub type Span = [Seconds; 2];

impl QueueDelays {
    /// Nothing yet; remembers when each datagram waited if `keeps_spans`.
    pub fn new(keeps_spans: bool) -> Self {
        Self {
            spans: keeps_spans.then(Vec::new),
            ..Self::default()
        }
    }

    /// A datagram begins to wait.
    pub fn begin(&mut self, token: u32, from_s: Seconds) {
        self.remember(token, [from_s, Seconds::INFINITY]);
    }

    /// A datagram that has waited since then has waited for so long, or will have.
    #[inline]
    pub fn end(&mut self, direction: Direction, token: u32, from_s: Seconds, wait_s: Seconds) {
        self.taken[direction as usize].add(wait_s);
        if self.spans.is_some() {
            self.remember(token, [from_s, from_s + wait_s]);
        }
    }

    /// When a datagram waited in the queue that it was last in; none where nobody remembers.
    pub fn span(&self, token: u32) -> Option<Span> {
        self.spans.as_ref()?.get(token as usize).copied()
    }

    /// A datagram found no room.
    pub fn refuse(&mut self, direction: Direction) {
        self.refused[direction as usize] += 1;
    }

    fn remember(&mut self, token: u32, span: Span) {
        let Some(spans) = &mut self.spans else {
            return;
        };
        let at = token as usize;
        if spans.len() <= at {
            spans.resize(at + 1, [Seconds::NAN; 2]);
        }
        spans[at] = span;
    }
}
