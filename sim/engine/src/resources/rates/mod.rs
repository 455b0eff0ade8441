//! Links of phones whose rate varies: by steps that a file says, and interrupted now and then.
//!
//! A radio on such a link is a queue as any other (`radio.rs`): what it is given goes out one after
//! the other, at the rate that the link has then. What deliberately does not live here: sites with a
//! limit, whose air such links do not share.

pub mod curve;
pub mod interruptions;

use std::rc::Rc;

use pocketsim_protocols::contract::Seconds;

use crate::plan::{Access, Plan};
use crate::resources::attachments::Attachments;
use crate::resources::radio::{has_room, Direction, Line, Radio, Turn};
use crate::resources::rates::curve::RateCurve;
use crate::resources::rates::interruptions::Interruptions;

/// The links of a run whose rates vary, by attachment; none for others.
#[derive(Debug)]
pub struct VaryingLinks(Vec<Option<Box<VaryingLink>>>);

/// The link of one attachment.
#[derive(Debug)]
pub struct VaryingLink {
    /// Up and down.
    curves: [Rc<RateCurve>; 2],
    interruptions: Option<Interruptions>,
}

impl VaryingLinks {
    /// Those of a plan; none without any.
    pub fn new(plan: &Plan) -> Option<Self> {
        let curves: Vec<_> = plan.access.iter().map(curves).collect();
        let attachments = Attachments::new(plan);
        let link = |(attachment, &network): (u32, &u32)| {
            let network = network as usize;
            let (seed, phone) = attachments.streams(plan.seed, attachment);
            let interruptions = Interruptions::new(&plan.access[network], seed, phone);
            let varies = curves[network].is_some() || interruptions.is_some();
            let given = curves[network].clone();
            varies.then(|| {
                Box::new(VaryingLink {
                    curves: given.unwrap_or_else(|| constant(&plan.access[network])),
                    interruptions,
                })
            })
        };
        let links: Vec<_> = (0..).zip(&attachments.access).map(link).collect();
        links.iter().any(Option::is_some).then_some(Self(links))
    }

    /// That of an attachment, if its rate varies.
    pub fn of(&self, attachment: u32) -> Option<&VaryingLink> {
        self.0[attachment as usize].as_deref()
    }

    /// The same, to give it something.
    pub fn of_mut(&mut self, attachment: u32) -> Option<&mut VaryingLink> {
        self.0[attachment as usize].as_deref_mut()
    }
}

impl VaryingLink {
    /// Gives a radio a datagram at `now`, which must not go back; none without room.
    pub fn pass(
        &mut self,
        (radio, line): (&mut Radio, Line),
        direction: Direction,
        now: Seconds,
        wire_bytes: u32,
    ) -> Option<Turn> {
        if !self.has_room((radio, line), direction, now, wire_bytes) {
            return None;
        }
        let bytes = f64::from(wire_bytes);
        let start_s = radio.out_s().max(now);
        // The first byte goes out when the link carries something again.
        let begun_s = self.date_after(direction, now, start_s, FIRST_BYTES);
        radio.busy_until(self.date_after(direction, now, start_s, bytes));
        Some(Turn {
            wait_s: (begun_s - now).max(0.0),
            out_s: radio.out_s(),
        })
    }

    /// Whether a radio would take so many bytes at `now`.
    pub fn has_room(
        &self,
        (radio, line): (&Radio, Line),
        direction: Direction,
        now: Seconds,
        wire_bytes: u32,
    ) -> bool {
        let unsent_bytes = self.unsent_bytes(radio, direction, now);
        has_room(line, unsent_bytes, f64::from(wire_bytes))
    }

    /// What a radio has not sent at `now`.
    fn unsent_bytes(&self, radio: &Radio, direction: Direction, now: Seconds) -> f64 {
        let (curve, out_s) = (&self.curves[direction as usize], radio.out_s());
        let (mut at_s, mut bytes) = (now, 0.0);
        // All that begin before it is out were drawn when that was found.
        let drawn = self.interruptions.iter().flat_map(Interruptions::drawn);
        for [begin_s, end_s] in drawn.chain([[out_s; 2]]) {
            let until_s = begin_s.min(out_s);
            if until_s > at_s {
                bytes += curve.bytes_between(at_s, until_s);
            }
            at_s = at_s.max(end_s);
        }
        bytes
    }

    /// When so many bytes are out that begin at `from_s`, from `now` on.
    fn date_after(
        &mut self,
        direction: Direction,
        now: Seconds,
        from_s: Seconds,
        bytes: f64,
    ) -> Seconds {
        let (mut at_s, mut left_bytes) = (from_s, bytes);
        loop {
            let [begin_s, end_s] = self.interruption(now, at_s);
            let curve = &self.curves[direction as usize];
            if begin_s > at_s {
                let out_s = curve.date_after(at_s, left_bytes);
                if out_s <= begin_s {
                    return out_s;
                }
                let sent_bytes = curve.bytes_between(at_s, begin_s);
                left_bytes = (left_bytes - sent_bytes).max(FIRST_BYTES);
            }
            at_s = end_s;
        }
    }

    /// The next interruption that ends after a date; never, without any.
    fn interruption(&mut self, now: Seconds, date_s: Seconds) -> [Seconds; 2] {
        let next = self.interruptions.as_mut();
        next.map_or([Seconds::INFINITY; 2], |next| next.next(now, date_s))
    }
}

/// The rates up and down of a network, if one of them varies.
fn curves(access: &Access) -> Option<[Rc<RateCurve>; 2]> {
    let given = [&access.up_rate, &access.down_rate];
    if given.iter().all(|steps| steps.is_none()) {
        return None;
    }
    let [up, down] = constant(access);
    let given = given.map(|steps| steps.as_ref().map(|steps| Rc::new(RateCurve::new(steps))));
    let [up_given, down_given] = given;
    Some([up_given.unwrap_or(up), down_given.unwrap_or(down)])
}

fn constant(access: &Access) -> [Rc<RateCurve>; 2] {
    [access.up_bytes_per_s, access.down_bytes_per_s]
        .map(|bytes_per_s| Rc::new(RateCurve::constant(bytes_per_s)))
}

/// What is sent as soon as anything is; more than curves round.
const FIRST_BYTES: f64 = 1e-2;
