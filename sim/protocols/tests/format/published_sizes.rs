//! Every printed size of a stored block, from the chain that produces it.

use std::ops::RangeInclusive;

use pocketsim_protocols::replay::replay_chain;

#[derive(Debug)]
struct Row {
    transport: &'static str,
    workload: u32,
    count: u32,
    min: u32,
    max: u32,
    average: f64,
    outstanding: Option<RangeInclusive<u32>>,
}

fn rows() -> Vec<Row> {
    let lines = include_str!("../vectors/stored_block_sizes.csv").lines();
    lines
        .filter(|line| !line.starts_with(['#', 't']))
        .map(row)
        .collect()
}

fn row(line: &'static str) -> Row {
    let cells: Vec<&str> = line.split(',').collect();
    let number = |at: usize| cells[at].parse().expect(line);
    Row {
        transport: cells[0],
        workload: number(1),
        count: number(3),
        min: number(4),
        max: number(5),
        average: cells[6].parse().expect(line),
        outstanding: (!cells[7].is_empty()).then(|| number(7)..=number(8)),
    }
}

impl Row {
    /// Whether these sizes print as the row does.
    fn prints(&self, sizes: &[u32]) -> bool {
        let sum: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
        sizes.len() == self.count as usize
            && sizes.iter().min() == Some(&self.min)
            && sizes.iter().max() == Some(&self.max)
            && self.rounds_to(sum)
    }

    fn rounds_to(&self, sum: u64) -> bool {
        // One decimal; a hair of slack, for a tie may be printed either way.
        (sum as f64 / f64::from(self.count) - self.average).abs() < 0.05 + 1e-9
    }

    /// The same for a chain that goes on at `first`, from the closed form.
    fn could_start_at(&self, first: u64) -> bool {
        let size = |offset: u64| {
            let digits = (first + offset).ilog10() as u64;
            664 + digits + u64::from(offset >= 10_000)
        };
        let last = u64::from(self.count) - 1;
        size(0) == u64::from(self.min)
            && size(last) == u64::from(self.max)
            && self.rounds_to((0..=last).map(size).sum())
    }
}

#[test]
fn restarted_runs_reproduce() {
    let rows: Vec<Row> = rows()
        .into_iter()
        .filter(|row| row.transport == "quic_keep")
        .collect();
    assert_eq!(rows.len(), 40);
    for row in rows {
        let range = row.outstanding.clone().expect("a range");
        for outstanding in [*range.start(), *range.end()] {
            let sizes = replay_chain(128, 1, row.count, outstanding);
            assert!(row.prints(&sizes), "{row:?} with {outstanding} outstanding");
        }
    }
}

#[test]
fn one_more_or_less_outstanding_does_not_reproduce() {
    // The ranges are sharp, so what a run had outstanding can be read off its average.
    for row in rows() {
        let Some(range) = row.outstanding.clone() else {
            continue;
        };
        let outside = [range.start().checked_sub(1), Some(range.end() + 1)];
        for outstanding in outside
            .into_iter()
            .flatten()
            .filter(|&more| more < row.count)
        {
            let sizes = replay_chain(128, 1, row.count, outstanding);
            assert!(
                !row.prints(&sizes),
                "{row:?} with {outstanding} outstanding"
            );
        }
    }
}

/// Rows of neighbouring workloads, which one chain runs through.
fn udp(workloads: &[u32]) -> Vec<Row> {
    let wanted = |row: &Row| row.transport == "udp" && workloads.contains(&row.workload);
    let rows: Vec<Row> = rows().into_iter().filter(wanted).collect();
    assert_eq!(rows.len(), 5 * workloads.len());
    rows
}

fn reproduce(rows: &[Row], mut first: u64) {
    for row in rows {
        let sizes = replay_chain(128, first, row.count, 0);
        assert!(row.prints(&sizes), "{row:?} from index {first}");
        first += u64::from(row.count);
    }
}

/// The first starts of a chain that every row fits.
fn start(rows: &[Row], candidates: RangeInclusive<u64>) -> Option<u64> {
    let fits = |&first: &u64| {
        let mut first = first;
        rows.iter().all(|row| {
            let fits = row.could_start_at(first);
            first += u64::from(row.count);
            fits
        })
    };
    candidates.into_iter().find(fits)
}

#[test]
fn continued_runs_reproduce_from_the_first_block_on() {
    reproduce(&udp(&[1, 2, 4, 8]), 1);
}

#[test]
fn continued_runs_after_a_gap_reproduce_from_one_start() {
    // How many blocks the workloads between them stored is not known here.
    let slow = udp(&[32, 64, 128]);
    let after_slow = start(&slow, 1_811..=10_000).expect("a start");
    reproduce(&slow, after_slow);
    let fast = udp(&[512, 1024]);
    let after_fast = start(&fast, 30_000..=100_000).expect("a start");
    reproduce(&fast, after_fast);
}

#[test]
fn a_replay_stores_what_it_is_asked_for() {
    assert_eq!(replay_chain(128, 1, 0, 5), [0u32; 0]);
    assert_eq!(replay_chain(128, 1, 2, 5), [536, 600]);
    assert_eq!(replay_chain(128, 1, 4, 1), [536, 600, 664, 664]);
    assert_eq!(replay_chain(10, 99, 2, 0), [547, 548]);
}
