//! How long the rest of a run will take, by what its steps have taken so far.
//!
//! A step that comes again takes about as long as it took before. One that has not come yet takes
//! the time that it is given, times what steps of its kind took of theirs. What deliberately does
//! not live here: the clock, and who is told.

/// A step before it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The time that it is given in a round, in seconds.
    pub given_s: f64,
    /// Whether the sampler repeats it; experiments end in their own time.
    pub is_repeated: bool,
}

/// What steps are expected to take, and took.
#[derive(Clone, Debug)]
pub struct Remaining {
    steps: Vec<(Expected, Option<f64>)>,
    taken_s: f64,
}

impl Remaining {
    /// None has come yet.
    pub fn of(steps: Vec<Expected>) -> Self {
        Self {
            steps: steps.into_iter().map(|step| (step, None)).collect(),
            taken_s: 0.0,
        }
    }

    /// The step at `place` took so long this time, in seconds.
    pub fn took(&mut self, place: usize, duration_s: f64) {
        self.steps[place].1 = Some(duration_s);
        self.taken_s += duration_s;
    }

    /// What the steps at `places` will take, in seconds, when the run has lasted for `spent_s`: what
    /// lies between steps is expected to go on, too.
    pub fn left_s(&self, places: &[usize], spent_s: f64) -> f64 {
        let used = [false, true].map(|is_repeated| self.used_ratio(is_repeated));
        let ahead = places.iter().map(|&place| match self.steps[place] {
            (_, Some(took_s)) => took_s,
            (step, None) => step.given_s * used[usize::from(step.is_repeated)],
        });
        let between = match self.taken_s > 0.0 {
            true => (spent_s / self.taken_s).max(1.0),
            false => 1.0,
        };
        ahead.sum::<f64>() * between
    }

    /// How much of their given time steps of a kind took; all of it before one has come.
    fn used_ratio(&self, is_repeated: bool) -> f64 {
        let kind = self
            .steps
            .iter()
            .filter(|(step, _)| step.is_repeated == is_repeated);
        let come = kind.filter_map(|(step, took_s)| Some((step.given_s, (*took_s)?)));
        let (given_s, took_s) = come.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if given_s > 0.0 {
            took_s / given_s
        } else {
            1.0
        }
    }
}
