//! Datagrams at given dates over radios as queues.

use std::collections::BTreeMap;
use std::rc::Rc;

use _engine::plan::Plan;
use _engine::record::trace::Trace;
use _engine::resources::queue_delay::QueueDelays;
use pocketsim_protocols::contract::{EventKind, Seconds};

use super::puppet::{act_with_energy, say, send, wait_in_hybrid, Act, Cue};
use super::Numbers;

/// A datagram: when, from whom, to whom, and bytes with all headers.
pub type Send = (Seconds, u32, u32, u32);

pub const HEADERS_BYTES: u32 = 28;

pub fn simulated(plan: Plan, sends: &[Send]) -> Trace {
    simulated_with_waits(plan, sends).0
}

pub fn simulated_with_waits(plan: Plan, sends: &[Send]) -> (Trace, QueueDelays) {
    wait_in_hybrid(asking(plan, sends), sender(sends))
}

/// With what phones spent, joules by component.
pub fn simulated_with_energy(plan: Plan, sends: &[Send]) -> (Trace, BTreeMap<&'static str, f64>) {
    act_with_energy(asking(plan, sends), sender(sends))
}

/// Asks for datagrams by number.
fn asking(mut plan: Plan, sends: &[Send]) -> Plan {
    for (number, &(time_s, from, to, _)) in (0..).zip(sends) {
        super::arrive(&mut plan, time_s, from, to);
        plan.workload.payload_bytes[number as usize] = number;
    }
    plan
}

/// Sends what it is asked for, and says what it gets.
fn sender(sends: &[Send]) -> impl FnMut(u32, Cue) -> Vec<Act> + Clone {
    let sends: Rc<[Send]> = sends.into();
    move |_, cue| -> Vec<Act> {
        match cue {
            Cue::Asked(number) => {
                let (_, _, to, bytes) = sends[number as usize];
                vec![send(to, number, bytes - HEADERS_BYTES)]
            }
            Cue::Got(parcel) => vec![say(parcel.number)],
            Cue::Failed(_) => vec![],
        }
    }
}

/// When each datagram arrived; none if it did not.
pub fn arrivals(trace: &Trace, count: usize) -> Vec<Option<Seconds>> {
    let columns = &trace.columns;
    let mut ends = vec![None; count];
    for row in 0..columns.kind.len() {
        if columns.kind[row] == EventKind::Take as u8 {
            let end_s = &mut ends[columns.size_bytes[row] as usize];
            assert!(end_s.replace(columns.time_s[row]).is_none(), "twice");
        }
    }
    ends
}

/// Uniform in [0, 1).
pub fn uniform(numbers: &mut Numbers) -> f64 {
    let high = f64::from(numbers.draw() >> 5);
    let low = f64::from(numbers.draw() >> 6);
    (high * f64::from(1 << 26) + low) / f64::from(1u32 << 27) / f64::from(1 << 26)
}

pub fn choose(numbers: &mut Numbers, count: u32) -> u32 {
    (uniform(numbers) * f64::from(count)) as u32
}
