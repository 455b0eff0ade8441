//! Tables of transitions: from which state an event leads into which.
//!
//! What lives through states has them written down once, as a table, and looks up every change
//! there. What the table does not have cannot happen, since what could bring it about is refused
//! before; should it happen, the machine is wrong and the run ends. `docs/states.md` draws the
//! same tables.
//!
//! What deliberately does not live here: which event an input amounts to, and what is done then.

use std::fmt::Debug;

/// From a state, or from nothing, by an event, into a state.
pub type Row<S, E> = (Option<S>, E, S);

/// All transitions between states `S` by events `E`.
#[derive(Clone, Copy, Debug)]
pub struct Table<S: 'static, E: 'static>(&'static [Row<S, E>]);

impl<S: Copy + Debug + Eq, E: Copy + Debug + Eq> Table<S, E> {
    /// A table of these rows, in the order in which they are drawn.
    pub const fn new(rows: &'static [Row<S, E>]) -> Self {
        Self(rows)
    }

    /// The rows.
    pub const fn rows(&self) -> &'static [Row<S, E>] {
        self.0
    }

    /// Where `event` leads from `from`.
    ///
    /// # Panics
    /// When the table does not say.
    pub fn next(&self, from: Option<S>, event: E) -> S {
        let mut rows = self.0.iter();
        match rows.find(|row| (row.0, row.1) == (from, event)) {
            Some((_, _, to)) => *to,
            None => unreachable!("{event:?} from {from:?}"),
        }
    }

    /// States that nothing leads out of, in the order of the table.
    pub fn ends(&self) -> Vec<S> {
        let mut ends = Vec::new();
        for (_, _, to) in self.0 {
            let goes_on = self.0.iter().any(|(from, _, _)| *from == Some(*to));
            if !goes_on && !ends.contains(to) {
                ends.push(*to);
            }
        }
        ends
    }

    /// The table as a diagram in the language of Mermaid, with these names.
    pub fn diagram(&self, state: fn(S) -> &'static str, event: fn(E) -> &'static str) -> String {
        let rows = self.0.iter().map(|(from, by, to)| {
            let from = from.map_or("[*]", state);
            format!("    {from} --> {}: {}\n", state(*to), event(*by))
        });
        let ends = self.ends().into_iter();
        let ends = ends.map(|end| format!("    {} --> [*]\n", state(end)));
        let head = std::iter::once("stateDiagram-v2\n".to_owned());
        head.chain(rows).chain(ends).collect()
    }
}
