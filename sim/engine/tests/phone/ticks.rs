//! Timers of transports that end with ticks, as those of a runtime do.

use crate::common::puppet::{act_over, say, send, Act, Cue, Never, Parcel, Wire};
use crate::common::{arrive, plan, times, Closed};
use pocketsim_protocols::contract::{
    Datagram, Delivery, EventKind, Machine, NodeId, OutputsOf, Path, Seconds, Transport,
};

/// A wire that sends every parcel by a timer.
struct Later {
    wire: Wire,
    due: Vec<(Seconds, NodeId, Parcel)>,
}

impl Machine for Later {
    type Message = Datagram<Parcel>;
    type Request = Never;
    type Value = Delivery<Parcel>;

    fn receive(
        &mut self,
        from: NodeId,
        datagram: Self::Message,
        now: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        self.wire.receive(from, datagram, now, out);
    }

    fn command(&mut self, request: Never, now: Seconds, out: &mut OutputsOf<Self>) {
        self.wire.command(request, now, out);
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        while let Some(place) = self.due.iter().position(|&(due_s, ..)| due_s <= now) {
            let (_, to, parcel) = self.due.remove(place);
            self.wire.transmit(to, parcel, now, out);
        }
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        // What is handed over first is due first.
        self.due.first().map(|&(due_s, ..)| (due_s, "send"))
    }
}

impl Transport<Parcel> for Later {
    type Body = Parcel;

    fn transmit(&mut self, to: NodeId, parcel: Parcel, now: Seconds, _: &mut OutputsOf<Self>) {
        self.due.push((now + WAITS_S, to, parcel));
    }

    fn shut_down(&mut self, now: Seconds) -> Vec<(NodeId, Delivery<Parcel>)> {
        self.wire.shut_down(now)
    }
}

/// When what phone 0 hands over then has come.
fn came(timer_tick_s: Seconds, handed_over_s: [Seconds; 2]) -> Vec<Seconds> {
    let mut plan = plan(2);
    plan.transport.options.timer_tick_s = timer_tick_s;
    for at_s in handed_over_s {
        arrive(&mut plan, at_s, 0, 1);
    }
    let play = |_, cue| -> Vec<Act> {
        match cue {
            Cue::Asked(bytes) => vec![send(1, 0, bytes)],
            Cue::Got(parcel) => vec![say(parcel.number)],
            Cue::Failed(_) => vec![],
        }
    };
    let later = || Later {
        wire: Wire(Path::Direct),
        due: vec![],
    };
    let trace = act_over(Closed::default(), later, plan, play);
    times(&trace, EventKind::Take)
}

#[test]
fn a_timer_ends_whole_ticks_after_its_runtime_went_to_sleep() {
    let late = |handed_over_s, expected: [Seconds; 2]| {
        let exact = came(0.0, handed_over_s);
        let ticked = came(0.1, handed_over_s);
        assert_eq!((exact.len(), ticked.len()), (2, 2));
        for place in 0..2 {
            let late_s = ticked[place] - exact[place];
            assert!((late_s - expected[place]).abs() < 1e-6, "{late_s}");
        }
    };
    // 0.25 s, from 0.03 and from 0.07 s after a tick of 0.1 s: three ticks, and four.
    late([1.03, 3.07], [0.05, 0.15]);
    // Who is awake looks at the clock: the first, due at 1.28, is sent with the second's arrival.
    late([1.03, 1.29], [0.01, 0.15]);
}

/// For so long a parcel waits for its timer.
const WAITS_S: Seconds = 0.25;
