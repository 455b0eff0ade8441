//! The steps of a run: which cases, on how many threads, on which cores, and for how long.

use super::Options;
use crate::host::cores;
use crate::kernel::{Case, Depth, Group, Unmeasured, Work};
use crate::report::{Core, CoreClass};

/// One case on some threads and cores.
#[derive(Clone)]
pub struct Step {
    /// What.
    pub case: Case,
    /// On how many threads at once.
    pub threads: usize,
    /// On which cores only, if not on any.
    pub cores: Option<(CoreClass, Vec<u32>)>,
}

impl Step {
    /// Whether it comes in every round: all that is about the device itself. The way to a peer and
    /// the battery have a pace of their own.
    pub fn repeats(&self) -> bool {
        self.is_timed() || !matches!(self.case.group, Group::Link | Group::Battery)
    }

    fn is_timed(&self) -> bool {
        matches!(self.case.work, Work::Repeat(_))
    }
}

/// How often and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Passes over the catalogue. Slow drifts of the machine then hit all cases alike, and show.
    pub rounds: u32,
    /// Time of a case in each round, in seconds.
    pub case_s: f64,
    /// Time of an experiment in all rounds together, in seconds.
    pub experiment_s: f64,
    /// Time of an experiment with a peer, in one round, in seconds.
    pub link_s: f64,
    /// Samples of an experiment that are enough, in all rounds together.
    pub experiment_samples: usize,
    /// Longest time without a look for throttling, in seconds.
    pub check_every_s: f64,
    /// Longest time to wait for the device to cool down, in the whole run, in seconds.
    pub pause_max_s: f64,
}

impl Schedule {
    /// Time of an experiment of that group, in seconds.
    pub fn experiment_s(&self, group: Group) -> f64 {
        match group {
            Group::Link => self.link_s,
            _ => self.experiment_s,
        }
    }
}

/// The cases that the user wants, each as often as it is worth.
///
/// # Errors
/// A wish that no case fulfils, with the names that there are.
pub fn steps(
    options: &Options,
    catalogue: Vec<Case>,
    cores: &[Core],
    threads_max: usize,
) -> Result<Vec<Step>, Unmeasured> {
    if let Some(wish) = options
        .only
        .iter()
        .find(|wish| !catalogue.iter().any(|c| wanted(wish, c)))
    {
        return Err(unfulfilled(wish, &catalogue));
    }
    let all = options.only.is_empty();
    let chosen = catalogue
        .into_iter()
        .filter(|case| all || options.only.iter().any(|wish| wanted(wish, case)));
    Ok(chosen
        .flat_map(|case| variants(case, options.depth, cores, threads_max))
        .collect())
}

/// The schedule for that many steps.
pub fn schedule(depth: Depth, steps: &[Step]) -> Schedule {
    let repeated = steps.iter().filter(|step| step.is_timed()).count().max(1) as f64;
    match depth {
        Depth::Quick => Schedule {
            rounds: QUICK_ROUNDS,
            case_s: (QUICK_TOTAL_S / repeated / f64::from(QUICK_ROUNDS)).clamp(0.025, 0.1),
            experiment_s: 0.3,
            link_s: QUICK_LINK_S,
            experiment_samples: 200,
            check_every_s: 4.0,
            pause_max_s: 0.0,
        },
        Depth::Full => Schedule {
            rounds: FULL_ROUNDS,
            case_s: (FULL_TOTAL_S / repeated / f64::from(FULL_ROUNDS)).clamp(0.06, 0.2),
            experiment_s: 1.2,
            link_s: FULL_LINK_S,
            experiment_samples: 1_000,
            check_every_s: 5.0,
            pause_max_s: 60.0,
        },
    }
}

/// 1, 2, 4, ... and the largest number of threads.
pub fn ladder(threads_max: usize) -> Vec<usize> {
    let doublings = std::iter::successors(Some(1), |threads| Some(threads * 2));
    let mut counts: Vec<usize> = doublings
        .take_while(|&threads| threads < threads_max)
        .collect();
    counts.push(threads_max.max(1));
    counts
}

/// Whether `name` is what `pattern` describes: `*` stands for anything, `?` for one character.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return name.is_empty();
    };
    let rest = &pattern[first.len_utf8()..];
    let mut characters = name.chars();
    match first {
        '*' => {
            matches(rest, name)
                || characters.next().is_some() && matches(pattern, characters.as_str())
        }
        '?' => characters.next().is_some() && matches(rest, characters.as_str()),
        _ => characters.next() == Some(first) && matches(rest, characters.as_str()),
    }
}

fn wanted(wish: &str, case: &Case) -> bool {
    wish == case.group.name() || matches(wish, case.kernel)
}

fn unfulfilled(wish: &str, catalogue: &[Case]) -> Unmeasured {
    let mut kernels: Vec<_> = catalogue.iter().map(|case| case.kernel).collect();
    kernels.dedup();
    let groups = Group::ALL.iter().map(|group| group.name());
    let names: Vec<_> = groups.chain(kernels).collect();
    let reason = format!("no case is `{wish}`; there are {}", names.join(", "));
    Unmeasured::because(reason)
}

/// The case by itself; if it scales, on more threads and on each class of cores too.
fn variants(case: Case, depth: Depth, cores: &[Core], threads_max: usize) -> Vec<Step> {
    let step = |threads, cores| Step {
        case: case.clone(),
        threads,
        cores,
    };
    let mut steps = vec![step(1, None)];
    let is_worth_it = depth == Depth::Full || LADDERS.contains(&case.kernel);
    if case.scales && is_worth_it && matches!(case.work, Work::Repeat(_)) {
        let more = ladder(threads_max)
            .into_iter()
            .filter(|&threads| threads > 1);
        let more = more.filter(|&threads| depth == Depth::Full || threads == threads_max);
        steps.extend(more.map(|threads| step(threads, None)));
        let classes = cores::distinct_classes(cores).into_iter();
        let classes = classes.filter(|_| depth == Depth::Full);
        steps.extend(classes.map(|class| step(1, Some((class, cores::of_class(cores, class))))));
    }
    steps
}

/// Of the half minute that a quick run takes; the rest is for experiments.
const QUICK_TOTAL_S: f64 = 8.0;
/// Of the five minutes that a full run should take on a machine without many cores.
const FULL_TOTAL_S: f64 = 180.0;
/// A search for the rate that a link carries takes some 8 s, as its lowest rates send 200 datagrams
/// in no less; a train that shows a loss of 1 % takes 2 s. In a full run there are two searches.
const QUICK_LINK_S: f64 = 15.0;
const FULL_LINK_S: f64 = 20.0;
/// What calibration counts cores by: all that several threads are for in a quick run.
const LADDERS: [&str; 2] = ["ed25519_sign", "ed25519_verify"];
/// Three medians tell a drift from a single outlier.
const FULL_ROUNDS: u32 = 3;
/// The fewest that can disagree.
const QUICK_ROUNDS: u32 = 2;
