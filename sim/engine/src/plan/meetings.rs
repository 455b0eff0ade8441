//! When phones that walk are in each other's range: legs as columns in, meetings as columns out.
//!
//! A phone goes straight and evenly from each of its waypoints to the next, and stays at the last. So
//! two phones on a leg each are in range between the roots of a quadratic. [`meetings`] is exact and
//! driven by events: a phone's leg ends, or it enters another cell of a uniform grid, and is then
//! compared with the phones in the cells around it. What deliberately does not live here: how people
//! walk, which Python draws, and what carries datagrams when they meet (`crate::network::contacts`).

use pocketsim_protocols::contract::Seconds;

use crate::base::event_queue::EventQueue;

/// Where phones turn, as columns of one length, sorted by phone and then by time.
///
/// Phones are numbered from 0, and each has a waypoint at least, the first at 0 s or before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waypoints {
    /// Whose it is.
    pub phone: Vec<u32>,
    /// When it is there.
    pub time_s: Vec<Seconds>,
    /// Where that is, metres from the left border.
    pub x_m: Vec<f64>,
    /// Where that is, metres from the lower border.
    pub y_m: Vec<f64>,
}

/// Two phones in range of each other, without a break from `begin_s` to `end_s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Meeting {
    /// The smaller of the two numbers.
    pub low: u32,
    /// The larger.
    pub high: u32,
    /// When it begins, not before 0.
    pub begin_s: Seconds,
    /// When it ends, not after the duration.
    pub end_s: Seconds,
}

/// All meetings of phones at most `range_m` apart within `duration_s`, sorted by begin, then by pair.
///
/// # Errors
/// What is wrong with the waypoints, the range or the duration.
pub(crate) fn meetings(
    waypoints: &Waypoints,
    range_m: f64,
    duration_s: Seconds,
) -> Result<Vec<Meeting>, String> {
    let firsts = check(waypoints, range_m, duration_s)?;
    if firsts.len() < 3 {
        return Ok(Vec::new()); // no two phones
    }
    let mut walk = Walk::new(waypoints, firsts, range_m, duration_s);
    walk.run();
    let mut found = walk.found.finish();
    found.sort_by(|one, other| {
        let order = one.begin_s.total_cmp(&other.begin_s);
        order.then((one.low, one.high).cmp(&(other.low, other.high)))
    });
    Ok(found)
}

/// Where the waypoints of each phone begin, and the number of all.
fn check(waypoints: &Waypoints, range_m: f64, duration_s: Seconds) -> Result<Vec<usize>, String> {
    let Waypoints {
        phone,
        time_s,
        x_m,
        y_m,
    } = waypoints;
    let count = phone.len();
    if [time_s.len(), x_m.len(), y_m.len()] != [count; 3] {
        return Err("columns of waypoints differ in length".into());
    }
    let numbers = time_s.iter().chain(x_m).chain(y_m);
    if !numbers
        .chain([&range_m, &duration_s])
        .all(|of| of.is_finite())
    {
        return Err("a number of waypoints is not finite".into());
    }
    if range_m <= 0.0 {
        return Err("the range is not above 0".into());
    }
    let mut firsts = Vec::new();
    for at in 0..count {
        let is_first = at == 0 || phone[at] != phone[at - 1];
        if is_first && (phone[at] as usize != firsts.len() || time_s[at] > 0.0) {
            return Err(format!("phone {} begins wrongly", phone[at]));
        }
        if is_first {
            firsts.push(at);
        } else if time_s[at] < time_s[at - 1] {
            return Err(format!("phone {} goes back in time", phone[at]));
        }
    }
    firsts.push(count);
    Ok(firsts)
}

/// All phones on their way, and the cells that they are in.
struct Walk<'a> {
    waypoints: &'a Waypoints,
    /// Where the waypoints of each phone begin, and the number of all.
    firsts: Vec<usize>,
    range_m: f64,
    duration_s: Seconds,
    grid: Grid,
    walkers: Vec<Walker>,
    /// Phones, by when their leg ends or they enter another cell.
    turns: EventQueue<u32>,
    found: Found,
}

/// One phone now.
#[derive(Clone, Copy, Debug)]
struct Walker {
    leg: Leg,
    /// Its waypoint at which the leg begins.
    at: usize,
    /// When the leg ends; never after the last waypoint.
    leg_end_s: Seconds,
    cell: Cell,
    /// When it turns, or enters the cell that follows.
    until_s: Seconds,
    following: Option<Cell>,
}

/// An even way in a straight line.
#[derive(Clone, Copy, Debug)]
struct Leg {
    begin_s: Seconds,
    from_m: [f64; 2],
    speed_m_per_s: [f64; 2],
}

type Cell = [usize; 2];

impl<'a> Walk<'a> {
    fn new(
        waypoints: &'a Waypoints,
        firsts: Vec<usize>,
        range_m: f64,
        duration_s: Seconds,
    ) -> Self {
        let grid = Grid::around(waypoints, range_m, firsts.len() - 1);
        let mut walk = Self {
            waypoints,
            range_m,
            duration_s,
            grid,
            walkers: Vec::with_capacity(firsts.len() - 1),
            turns: EventQueue::new(),
            found: Found::default(),
            firsts,
        };
        for phone in 0..walk.firsts.len() - 1 {
            let walker = walk.leave(phone, walk.firsts[phone], 0.0);
            walk.walkers.push(walker);
            walk.grid.enter(walker.cell, phone as u32);
            walk.turns.push(walker.until_s, phone as u32);
        }
        walk
    }

    fn run(&mut self) {
        for phone in 0..self.walkers.len() as u32 {
            self.look_around(phone, 0.0);
        }
        while let Some(now) = self
            .turns
            .next_date()
            .filter(|&date| date < self.duration_s)
        {
            while let Some(phone) = self.turns.pop_due(now) {
                self.turn(phone, now);
                self.look_around(phone, now);
            }
        }
    }

    /// A phone takes its next leg, or enters its next cell.
    fn turn(&mut self, phone: u32, now: Seconds) {
        let before = self.walkers[phone as usize];
        let after = match before.following {
            Some(cell) => self.cross(Walker { cell, ..before }, now),
            None => self.leave(phone as usize, before.at + 1, now),
        };
        if after.cell != before.cell {
            self.grid.leave(before.cell, phone);
            self.grid.enter(after.cell, phone);
        }
        self.walkers[phone as usize] = after;
        self.turns.push(after.until_s, phone);
    }

    /// A phone at `now`, on the last of its legs from waypoint `at` on that has begun by then.
    fn leave(&self, phone: usize, mut at: usize, now: Seconds) -> Walker {
        let Waypoints {
            time_s, x_m, y_m, ..
        } = self.waypoints;
        let end = self.firsts[phone + 1];
        while at + 1 < end && time_s[at + 1] <= now {
            at += 1;
        }
        let from_m = [x_m[at], y_m[at]];
        let (mut leg_end_s, mut speed_m_per_s) = (f64::INFINITY, [0.0; 2]);
        if at + 1 < end {
            let takes_s = time_s[at + 1] - time_s[at];
            leg_end_s = time_s[at + 1];
            speed_m_per_s = [x_m[at + 1] - from_m[0], y_m[at + 1] - from_m[1]].map(|m| m / takes_s);
        }
        let leg = Leg {
            begin_s: time_s[at],
            from_m,
            speed_m_per_s,
        };
        let walker = Walker {
            leg,
            at,
            leg_end_s,
            cell: self.grid.cell(leg.place_m(now.max(leg.begin_s))),
            until_s: leg_end_s,
            following: None,
        };
        self.cross(walker, now)
    }

    /// The same phone with what it does next, from `now` on in its cell.
    fn cross(&self, mut walker: Walker, now: Seconds) -> Walker {
        (walker.until_s, walker.following) = (walker.leg_end_s, None);
        for axis in 0..2 {
            let Some((edge_m, number)) = self.grid.ahead(walker.cell, axis, &walker.leg) else {
                continue;
            };
            let there_s = walker.leg.when_s(axis, edge_m).max(now);
            if there_s < walker.until_s {
                let mut cell = walker.cell;
                cell[axis] = number;
                (walker.until_s, walker.following) = (there_s, Some(cell));
            }
        }
        walker
    }

    /// Notes with whom a phone is in range until it or the other turns.
    fn look_around(&mut self, phone: u32, now: Seconds) {
        let walker = &self.walkers[phone as usize];
        for &other in self.grid.around_cell(walker.cell).flatten() {
            let its = &self.walkers[other as usize];
            let until_s = walker.until_s.min(its.until_s).min(self.duration_s);
            if other == phone || until_s <= now {
                continue;
            }
            let Some([from_s, to_s]) = in_range_s(&walker.leg, &its.leg, self.range_m) else {
                continue;
            };
            let (begin_s, end_s) = (from_s.max(now), to_s.min(until_s));
            if begin_s < end_s {
                let (low, high) = (phone.min(other), phone.max(other));
                self.found.note(Meeting {
                    low,
                    high,
                    begin_s,
                    end_s,
                });
            }
        }
    }
}

impl Leg {
    fn place_m(&self, now: Seconds) -> [f64; 2] {
        let passed_s = now - self.begin_s;
        [0, 1].map(|axis| self.from_m[axis] + self.speed_m_per_s[axis] * passed_s)
    }

    fn when_s(&self, axis: usize, edge_m: f64) -> Seconds {
        self.begin_s + (edge_m - self.from_m[axis]) / self.speed_m_per_s[axis]
    }
}

/// From when to when two that go on for ever are at most `range_m` apart, if they ever are.
///
/// It depends on the two legs alone, and not on when it is asked: pieces of a meeting fit together.
fn in_range_s(one: &Leg, other: &Leg, range_m: f64) -> Option<[Seconds; 2]> {
    let since_s = one.begin_s.max(other.begin_s);
    let (here_m, there_m) = (one.place_m(since_s), other.place_m(since_s));
    let [x, y] = [0, 1].map(|axis| there_m[axis] - here_m[axis]);
    let [vx, vy] = [0, 1].map(|axis| other.speed_m_per_s[axis] - one.speed_m_per_s[axis]);
    let squared = vx * vx + vy * vy;
    let beyond = x * x + y * y - range_m * range_m;
    if squared == 0.0 {
        return (beyond <= 0.0).then_some([f64::NEG_INFINITY, f64::INFINITY]);
    }
    // Twice the area that the way and the place span, over the speed, is how near they come.
    let area = x * vy - y * vx;
    let quarter = squared * range_m * range_m - area * area;
    if quarter <= 0.0 {
        return None;
    }
    let nearing = x * vx + y * vy;
    // No difference of two nearly equal numbers (Numerical Recipes, 5.6).
    let sum = -(nearing + quarter.sqrt().copysign(nearing));
    let (first, second) = (sum / squared, beyond / sum);
    Some([since_s + first.min(second), since_s + first.max(second)])
}

/// Equal square cells with the phones in them; those at the border have no end outwards.
struct Grid {
    origin_m: [f64; 2],
    side_m: f64,
    counts: [usize; 2],
    phones: Vec<Vec<u32>>,
}

impl Grid {
    /// Cells around all waypoints, about one for each phone, and none smaller than the range.
    fn around(waypoints: &Waypoints, range_m: f64, phones: usize) -> Self {
        let (low, high): (Vec<f64>, Vec<f64>) = [&waypoints.x_m, &waypoints.y_m]
            .map(|places_m| {
                let low = places_m.iter().copied().fold(f64::INFINITY, f64::min);
                let high = places_m.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                (low, high)
            })
            .into_iter()
            .unzip();
        let [width, height] = [high[0] - low[0], high[1] - low[1]];
        let even = (width * height / phones as f64).sqrt();
        let long = width.max(height) / phones as f64;
        let side_m = even.max(long).max(range_m * WIDER);
        let counts = [width, height].map(|of| (of / side_m) as usize + 1);
        Self {
            origin_m: [low[0], low[1]],
            side_m,
            counts,
            phones: vec![Vec::new(); counts[0] * counts[1]],
        }
    }

    fn cell(&self, place_m: [f64; 2]) -> Cell {
        [0, 1].map(|axis| {
            // What is below 0 becomes 0.
            let number = ((place_m[axis] - self.origin_m[axis]) / self.side_m) as usize;
            number.min(self.counts[axis] - 1)
        })
    }

    /// The edge to which a leg leads from a cell along an axis, and the number of the cell behind it.
    fn ahead(&self, cell: Cell, axis: usize, leg: &Leg) -> Option<(f64, usize)> {
        let (number, speed) = (cell[axis], leg.speed_m_per_s[axis]);
        let (edge, next) = if speed > 0.0 {
            (number + 1, number + 1)
        } else if speed < 0.0 {
            (number, number.checked_sub(1)?)
        } else {
            return None;
        };
        let edge_m = self.origin_m[axis] + edge as f64 * self.side_m;
        (next < self.counts[axis]).then_some((edge_m, next))
    }

    /// The phones in a cell and in those that touch it, by cell.
    fn around_cell(&self, cell: Cell) -> impl Iterator<Item = &Vec<u32>> {
        let [columns, rows] = [0, 1]
            .map(|axis| cell[axis].saturating_sub(1)..=(cell[axis] + 1).min(self.counts[axis] - 1));
        rows.flat_map(move |row| columns.clone().map(move |column| [column, row]))
            .map(|near| &self.phones[self.number(near)])
    }

    fn enter(&mut self, cell: Cell, phone: u32) {
        let number = self.number(cell);
        self.phones[number].push(phone);
    }

    fn leave(&mut self, cell: Cell, phone: u32) {
        let number = self.number(cell);
        let here = &mut self.phones[number];
        let place = here.iter().position(|&each| each == phone);
        here.swap_remove(place.expect("it is where it was"));
    }

    fn number(&self, cell: Cell) -> usize {
        cell[1] * self.counts[0] + cell[0]
    }
}

/// Meetings in pieces, which are put together before they are too many.
#[derive(Default)]
struct Found {
    pieces: Vec<Meeting>,
    whole: usize,
}

impl Found {
    fn note(&mut self, piece: Meeting) {
        self.pieces.push(piece);
        if self.pieces.len() > 2 * self.whole + PIECES_MAX {
            self.join();
        }
    }

    fn finish(mut self) -> Vec<Meeting> {
        self.join();
        self.pieces
    }

    /// Makes one of what touches. Later pieces of a pair may be joined to its last another time.
    fn join(&mut self) {
        self.pieces.sort_unstable_by(|one, other| {
            let pairs = (one.low, one.high).cmp(&(other.low, other.high));
            pairs.then(one.begin_s.total_cmp(&other.begin_s))
        });
        self.pieces.dedup_by(|next, last| {
            let touches = (next.low, next.high) == (last.low, last.high)
                && next.begin_s <= last.end_s + BREAK_S;
            if touches {
                last.end_s = last.end_s.max(next.end_s);
            }
            touches
        });
        self.whole = self.pieces.len();
    }
}

/// How much wider than the range a cell is: who enters it a rounding error late is still in time.
const WIDER: f64 = 1.001;
const PIECES_MAX: usize = 1 << 20; // 32 MB
const BREAK_S: Seconds = 1e-9; // a turn at the border of the range, which rounding errors cut

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Stream;

    /// Every pair over every common stretch of two legs, without cells and events.
    fn brute_force(waypoints: &Waypoints, range_m: f64, duration_s: Seconds) -> Vec<Meeting> {
        let firsts = check(waypoints, range_m, duration_s).unwrap();
        let phones = firsts.len() - 1;
        let mut found = Vec::new();
        for low in 0..phones {
            for high in low + 1..phones {
                let mut of_pair: Vec<Meeting> = Vec::new();
                let mut turns: Vec<f64> = [low, high]
                    .iter()
                    .flat_map(|&phone| &waypoints.time_s[firsts[phone]..firsts[phone + 1]])
                    .map(|time_s| time_s.clamp(0.0, duration_s))
                    .chain([0.0, duration_s])
                    .collect();
                turns.sort_by(f64::total_cmp);
                for stretch in turns.windows(2) {
                    let gone = |now| {
                        let [one, other] = [low, high]
                            .map(|phone| place(waypoints, firsts[phone]..firsts[phone + 1], now));
                        [other[0] - one[0], other[1] - one[1]]
                    };
                    let within = stretch_in_range(gone(stretch[0]), gone(stretch[1]), range_m);
                    let takes_s = stretch[1] - stretch[0];
                    if let Some([from, to]) = within.filter(|_| takes_s > 0.0) {
                        let (begin_s, end_s) =
                            (stretch[0] + from * takes_s, stretch[0] + to * takes_s);
                        match of_pair.last_mut() {
                            Some(last) if begin_s <= last.end_s + 1e-7 => last.end_s = end_s,
                            _ => of_pair.push(Meeting {
                                low: low as u32,
                                high: high as u32,
                                begin_s,
                                end_s,
                            }),
                        }
                    }
                }
                found.extend(of_pair);
            }
        }
        found
    }

    fn place(waypoints: &Waypoints, rows: std::ops::Range<usize>, now: Seconds) -> [f64; 2] {
        let after = rows.clone().find(|&row| waypoints.time_s[row] >= now);
        let at = |row: usize| [waypoints.x_m[row], waypoints.y_m[row]];
        let Some(after) = after.filter(|&row| row > rows.start) else {
            return at(after.unwrap_or(rows.end - 1));
        };
        let [from_s, to_s] = [waypoints.time_s[after - 1], waypoints.time_s[after]];
        let share = (now - from_s) / (to_s - from_s);
        let (from, to) = (at(after - 1), at(after));
        [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]))
    }

    /// The part, from 0 to 1, of an even way between two differences in which it is in range.
    fn stretch_in_range(from: [f64; 2], to: [f64; 2], range_m: f64) -> Option<[f64; 2]> {
        let way = [to[0] - from[0], to[1] - from[1]];
        let a = way[0] * way[0] + way[1] * way[1];
        let b = from[0] * way[0] + from[1] * way[1];
        let c = from[0] * from[0] + from[1] * from[1] - range_m * range_m;
        if a == 0.0 {
            return (c <= 0.0).then_some([0.0, 1.0]);
        }
        let root = (b * b - a * c).max(0.0).sqrt();
        let within = [((-b - root) / a).max(0.0), ((-b + root) / a).min(1.0)];
        (b * b > a * c && within[0] < within[1]).then_some(within)
    }

    /// So many phones that walk about in a rectangle; some of them stand still, or for a while.
    fn strolls(seed: u64, phones: u32, sides_m: [f64; 2]) -> Waypoints {
        let mut stream = Stream::new(seed, "strolls", 0);
        let mut found = Waypoints::default();
        for phone in 0..phones {
            let mut time_s = -10.0 * stream.uniform();
            let legs = (stream.uniform() * 8.0) as usize;
            let mut stays = false;
            for _ in 0..=legs {
                let [x_m, y_m] = sides_m.map(|side_m| side_m * stream.uniform());
                let last = found.x_m.len().wrapping_sub(1);
                found.x_m.push(if stays { found.x_m[last] } else { x_m });
                found.y_m.push(if stays { found.y_m[last] } else { y_m });
                found.phone.push(phone);
                found.time_s.push(time_s);
                time_s += 30.0 * stream.uniform();
                stays = stream.uniform() < 0.3;
            }
        }
        found
    }

    /// Sorted by pair and then by begin; what is too short to tell apart from nothing left out.
    fn by_pair(mut found: Vec<Meeting>) -> Vec<Meeting> {
        found.retain(|one| one.end_s - one.begin_s > 1e-6);
        found.sort_by(|one, other| {
            let pairs = (one.low, one.high).cmp(&(other.low, other.high));
            pairs.then(one.begin_s.total_cmp(&other.begin_s))
        });
        found
    }

    #[test]
    fn meetings_are_those_of_all_pairs_on_all_their_legs() {
        let mut met = 0;
        for seed in 0..300 {
            let mut stream = Stream::new(seed, "sizes", 0);
            let phones = 2 + (stream.uniform() * 28.0) as u32;
            let sides_m = [10.0, 400.0].map(|side_m: f64| 1.0 + side_m * stream.uniform());
            let range_m = 0.5 + 40.0 * stream.uniform().powi(2);
            let walked = strolls(seed, phones, sides_m);
            let expected = by_pair(brute_force(&walked, range_m, 100.0));
            let found = by_pair(meetings(&walked, range_m, 100.0).unwrap());
            assert_eq!(found.len(), expected.len(), "seed {seed}");
            for (one, other) in found.iter().zip(&expected) {
                assert_eq!((one.low, one.high), (other.low, other.high), "seed {seed}");
                assert!(
                    (one.begin_s - other.begin_s).abs() < 1e-6,
                    "{one:?} {other:?}"
                );
                assert!((one.end_s - other.end_s).abs() < 1e-6, "{one:?} {other:?}");
            }
            met += found.len();
        }
        assert!(met > 10_000, "{met}");
    }

    #[test]
    fn meetings_are_in_order_of_their_begin() {
        let found = meetings(&strolls(1, 30, [60.0, 60.0]), 10.0, 100.0).unwrap();
        assert!(found.is_sorted_by_key(|one| (one.begin_s, one.low, one.high)));
        assert!(found
            .iter()
            .all(|one| one.low < one.high && one.end_s <= 100.0));
    }

    #[test]
    fn who_passes_somebody_is_in_range_for_the_chord_of_a_circle() {
        // At 1 m/s, 3 m beside somebody who stands, in a range of 5 m: for 8 s.
        let passing = Waypoints {
            phone: vec![0, 0, 1],
            time_s: vec![0.0, 100.0, 0.0],
            x_m: vec![0.0, 100.0, 40.0],
            y_m: vec![3.0, 3.0, 0.0],
        };
        let found = meetings(&passing, 5.0, 200.0).unwrap();
        let [one] = found[..] else {
            panic!("{found:?}")
        };
        assert!((one.begin_s - 36.0).abs() < 1e-12 && (one.end_s - 44.0).abs() < 1e-12);
    }

    #[test]
    fn a_meeting_over_turns_and_cells_is_one() {
        // Side by side on a zigzag over many cells.
        let times: Vec<f64> = (0..20).map(|leg| 10.0 * f64::from(leg)).collect();
        let zigzag = |leg: usize| if leg % 2 == 0 { 0.0 } else { 50.0 };
        let beside = Waypoints {
            phone: (0..40).map(|row| row / 20).collect(),
            time_s: [times.clone(), times].concat(),
            x_m: (0..40).map(|row| 30.0 * f64::from(row % 20)).collect(),
            y_m: (0..40)
                .map(|row| zigzag(row % 20) + f64::from(u8::from(row >= 20)))
                .collect(),
        };
        let found = meetings(&beside, 2.0, 500.0).unwrap();
        let whole = Meeting {
            low: 0,
            high: 1,
            begin_s: 0.0,
            end_s: 500.0,
        };
        assert_eq!(found, [whole]);
    }

    #[test]
    fn pieces_are_joined_however_many_there_are() {
        let mut found = Found::default();
        let piece = |at: usize, pair: u32| Meeting {
            low: 2 * pair,
            high: 2 * pair + 1,
            begin_s: at as f64,
            end_s: (at + 1) as f64,
        };
        let count = PIECES_MAX;
        for at in 0..count {
            found.note(piece(at, 0));
            found.note(piece(at, 1));
        }
        let whole = [0, 1].map(|pair| Meeting {
            end_s: count as f64,
            ..piece(0, pair)
        });
        assert!(found.pieces.len() <= PIECES_MAX + 4);
        assert_eq!(found.finish(), whole);
    }

    #[test]
    fn one_phone_meets_nobody() {
        assert_eq!(meetings(&strolls(1, 1, [9.0, 9.0]), 1.0, 50.0), Ok(vec![]));
        assert_eq!(meetings(&Waypoints::default(), 1.0, 50.0), Ok(vec![]));
    }

    #[test]
    fn waypoints_that_make_no_sense_are_refused() {
        let good = || strolls(1, 3, [9.0, 9.0]);
        let refused = |change: fn(&mut Waypoints)| {
            let mut wrong = good();
            change(&mut wrong);
            meetings(&wrong, 1.0, 50.0).is_err()
        };
        assert!(refused(|of| of.x_m.truncate(2)));
        assert!(refused(|of| of.y_m[1] = f64::NAN));
        assert!(refused(|of| of.phone[0] = 1));
        assert!(refused(|of| of.time_s[0] = 1.0));
        assert!(refused(|of| of.time_s.reverse()));
        assert!(meetings(&good(), 0.0, 50.0).is_err());
    }
}
