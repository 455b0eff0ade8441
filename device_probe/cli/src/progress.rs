//! The progress of a run on stderr: a bar on a terminal, else a few lines.
//!
//! Nothing is drawn while a step is measured: whoever drew would take time of the cores.

use std::io::IsTerminal;
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pocketsim_probe_core::kernel::Case;
use pocketsim_probe_core::report::Measurement;
use pocketsim_probe_core::run::{Observer, Position};

use crate::say::say;

/// Shows what a run does.
pub enum Progress {
    /// Nothing is shown.
    Quiet,
    /// One line, drawn again at each step.
    Bar(ProgressBar),
    /// A line now and then; of so many quarters of the steps there has been one.
    Lines(Mutex<Option<usize>>),
}

impl Progress {
    /// On stderr, or nowhere.
    pub fn new(quiet: bool) -> Self {
        match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Bar(bar()),
            (false, false) => Self::Lines(Mutex::default()),
        }
    }

    /// The run is over; what was there for now goes away.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn started(&self, position: &Position, case: &Case) {
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => {
                bar.set_message(format!("{}: {}", left(position.left_s), case.kernel));
                bar.update(|state| {
                    state.set_len(position.total as u64);
                    state.set_pos(position.number as u64 - 1);
                });
            }
            Self::Lines(said) => {
                let mut said = said.lock().expect("nobody panics with it");
                if let Some(line) = line(&mut said, position) {
                    say(line);
                }
            }
        }
    }

    fn measured(&self, _measurement: &Measurement) {}
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("[{bar:24}] {pos}/{len}, {wide_msg}");
    let style = style.expect("a template").progress_chars("## ");
    let target = ProgressDrawTarget::stderr_with_hz(DRAWN_HZ);
    ProgressBar::with_draw_target(Some(0), target).with_style(style)
}

/// A line at the beginning, and when another quarter of the steps is done.
fn line(said: &mut Option<usize>, position: &Position) -> Option<String> {
    let Position {
        number,
        total,
        left_s,
    } = *position;
    let quarters = QUARTERS * (number - 1) / total.max(1);
    if said.replace(quarters) == Some(quarters) {
        return None;
    }
    Some(format!(
        "{} of {total} steps done, {}",
        number - 1,
        left(left_s)
    ))
}

/// Seconds, or minutes where they are many.
fn left(left_s: f64) -> String {
    let seconds = left_s.round() as u64;
    match seconds {
        0..=99 => format!("{seconds} s left"),
        _ => format!("{} min {} s left", seconds / 60, seconds % 60),
    }
}

const QUARTERS: usize = 4;
/// More often than steps begin: what is left out would be missing for as long as the next one takes.
const DRAWN_HZ: u8 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_any_length_has_four_lines_of_progress() {
        for total in [4, 5, 270, 2_000] {
            let mut said = None;
            let at = |number| Position {
                number,
                total,
                left_s: (total - number) as f64,
            };
            let lines: Vec<_> = (1..=total)
                .filter_map(|number| line(&mut said, &at(number)))
                .collect();
            assert_eq!(lines.len(), 4, "{lines:?}");
        }
    }

    #[test]
    fn lines_say_what_is_done_and_what_is_left() {
        let mut said = None;
        let mut at = |number, left_s| {
            let total = 8;
            let position = Position {
                number,
                total,
                left_s,
            };
            line(&mut said, &position)
        };
        assert_eq!(at(1, 31.2).unwrap(), "0 of 8 steps done, 31 s left");
        assert_eq!(at(2, 30.0), None);
        assert_eq!(at(3, 250.0).unwrap(), "2 of 8 steps done, 4 min 10 s left");
    }
}
