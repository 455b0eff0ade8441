//! An application that does what a test says, on a transport that adds nothing of its own.

use std::collections::BTreeMap;

use _engine::driver::Driver;
use _engine::plan::Plan;
use _engine::record::trace::Trace;
use _engine::resources::hybrid::Hybrid;
use _engine::resources::queue_delay::QueueDelays;
use pocketsim_protocols::contract::{
    AppRequest, Application, Datagram, Delivery, Event, EventKind, Lane, Machine, MessageId,
    NodeId, Operation, Output, OutputsOf, Path, Payload, Seconds, Transport,
};

use super::{run, Closed};

/// What puppets send: a number and a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Parcel {
    pub number: u32,
    pub bytes: u32,
}

impl Payload for Parcel {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn message_id(&self) -> MessageId {
        MessageId(u64::from(self.number))
    }
}

/// What a puppet does.
pub type Act = Output<Parcel, AppRequest<Parcel>, ()>;

/// What happens to a puppet.
pub enum Cue {
    /// The plan, or the puppet itself, asks for this many bytes.
    Asked(u32),
    /// It is given something.
    Got(Parcel),
    /// It is told that something did not arrive.
    Failed(Parcel),
}

/// Does what `play` says of it.
pub struct Puppet<F> {
    node: u32,
    play: F,
}

impl<F: FnMut(u32, Cue) -> Vec<Act>> Machine for Puppet<F> {
    type Message = Parcel;
    type Request = AppRequest<Parcel>;
    type Value = ();

    fn receive(&mut self, _: NodeId, parcel: Parcel, _: Seconds, out: &mut OutputsOf<Self>) {
        out.extend((self.play)(self.node, Cue::Got(parcel)));
    }

    fn command(&mut self, request: Self::Request, _: Seconds, out: &mut OutputsOf<Self>) {
        let cue = match request {
            AppRequest::Transact { payload_bytes, .. } => Cue::Asked(payload_bytes),
            AppRequest::Pay { amount_cents, .. } => Cue::Asked(amount_cents),
            AppRequest::Undelivered { payload, .. } => Cue::Failed(payload),
        };
        out.extend((self.play)(self.node, cue));
    }

    fn handle_timeout(&mut self, _: Seconds, _: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl<F: FnMut(u32, Cue) -> Vec<Act>> Application for Puppet<F> {
    type Block = Parcel;
}

/// Puts payloads on one path as they are.
pub struct Wire(pub Path);

/// A wire asks itself for nothing.
pub enum Never {}

impl Machine for Wire {
    type Message = Datagram<Parcel>;
    type Request = Never;
    type Value = Delivery<Parcel>;

    fn receive(
        &mut self,
        from: NodeId,
        datagram: Self::Message,
        _: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        let value = Delivery::Received(datagram.body);
        out.push(Output::Deliver { from, value });
    }

    fn command(&mut self, request: Never, _: Seconds, _: &mut OutputsOf<Self>) {
        match request {}
    }

    fn handle_timeout(&mut self, _: Seconds, _: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl Transport<Parcel> for Wire {
    type Body = Parcel;

    fn transmit(&mut self, to: NodeId, parcel: Parcel, _: Seconds, out: &mut OutputsOf<Self>) {
        let message = datagram(parcel, self.0);
        out.push(Output::Send { to, message });
    }

    fn shut_down(&mut self, _: Seconds) -> Vec<(NodeId, Delivery<Parcel>)> {
        Vec::new()
    }
}

/// A datagram that is a parcel.
pub fn datagram(parcel: Parcel, path: Path) -> Datagram<Parcel> {
    Datagram {
        udp_payload_bytes: parcel.bytes,
        path,
        message: Some(parcel.message_id()),
        body: parcel,
    }
}

/// Runs puppets that all do as `play` says, on direct paths.
pub fn act<F: FnMut(u32, Cue) -> Vec<Act> + Clone>(plan: Plan, play: F) -> Trace {
    act_in(Closed::default(), Path::Direct, plan, play)
}

/// As [`act`], in `world` and by `path`.
pub fn act_in<F: FnMut(u32, Cue) -> Vec<Act> + Clone>(
    world: Closed,
    path: Path,
    plan: Plan,
    play: F,
) -> Trace {
    act_over(world, || Wire(path), plan, play)
}

/// As [`act`], in `world` and over such transports.
pub fn act_over<F: FnMut(u32, Cue) -> Vec<Act> + Clone, T: Transport<Parcel>>(
    world: Closed,
    transport: impl Fn() -> T,
    plan: Plan,
    play: F,
) -> Trace {
    let end = plan.duration_s;
    let mut driver = Driver::new(plan, world.clone(), |node| {
        let play = play.clone();
        (Puppet { node, play }, transport())
    });
    run(&world, &mut driver, end);
    driver.finish().0
}

/// As [`act`], in queues and shares.
pub fn act_in_hybrid<F: FnMut(u32, Cue) -> Vec<Act> + Clone>(plan: Plan, play: F) -> Trace {
    ended_in_hybrid(plan, play, |_| ()).0
}

/// As [`act_in_hybrid`], and what phones spent, joules by component.
pub fn act_with_energy<F: FnMut(u32, Cue) -> Vec<Act> + Clone>(
    plan: Plan,
    play: F,
) -> (Trace, BTreeMap<&'static str, f64>) {
    ended_in_hybrid(plan, play, |driver| driver.energy_j())
}

/// As [`act_in_hybrid`], with how long datagrams waited for radios.
pub fn wait_in_hybrid<F: FnMut(u32, Cue) -> Vec<Act> + Clone>(
    plan: Plan,
    play: F,
) -> (Trace, QueueDelays) {
    ended_in_hybrid(plan, play, |driver| driver.waits().expect("it has queues"))
}

/// As [`act_in_hybrid`], over such transports.
pub fn act_over_in_hybrid<F: FnMut(u32, Cue) -> Vec<Act> + Clone, T: Transport<Parcel>>(
    transport: impl Fn() -> T,
    plan: Plan,
    play: F,
) -> Trace {
    ended_over(transport, plan, play, |_| ()).0
}

fn ended_in_hybrid<F: FnMut(u32, Cue) -> Vec<Act> + Clone, R>(
    plan: Plan,
    play: F,
    ending: impl FnOnce(&Driver<Puppet<F>, Wire, Hybrid>) -> R,
) -> (Trace, R) {
    ended_over(|| Wire(Path::Direct), plan, play, ending)
}

fn ended_over<F: FnMut(u32, Cue) -> Vec<Act> + Clone, T: Transport<Parcel>, R>(
    transport: impl Fn() -> T,
    plan: Plan,
    play: F,
    ending: impl FnOnce(&Driver<Puppet<F>, T, Hybrid>) -> R,
) -> (Trace, R) {
    let (end_s, world) = (plan.duration_s, Hybrid::new(&plan));
    let mut driver = Driver::new(plan, world, |node| {
        let play = play.clone();
        (Puppet { node, play }, transport())
    });
    driver.run(end_s);
    let ended = ending(&driver);
    (driver.finish().0, ended)
}

/// A row whose size is `number`.
pub fn say(number: u32) -> Act {
    let event = Event::new(EventKind::Take, MessageId(0), NodeId(0), number);
    Output::Observe(event)
}

/// One operation.
pub fn work(operation: Operation) -> Act {
    Output::Work {
        operation,
        bytes: 0,
    }
}

/// A parcel to `to`.
pub fn send(to: u32, number: u32, bytes: u32) -> Act {
    let message = Parcel { number, bytes };
    Output::Send {
        to: NodeId(to),
        message,
    }
}

/// The puppet asks itself for `number` bytes, on `lane`.
pub fn post(lane: u32, number: u32) -> Act {
    let request = AppRequest::Transact {
        peer: NodeId(0),
        payload_bytes: number,
    };
    Output::Post {
        lane: Lane(lane),
        request,
    }
}

/// Sizes of the rows that puppets wrote, in order.
pub fn said(trace: &Trace) -> Vec<u32> {
    let columns = &trace.columns;
    let rows = columns.kind.iter().zip(&columns.size_bytes);
    rows.filter(|(&number, _)| number == EventKind::Take as u8)
        .map(|(_, &size_bytes)| size_bytes)
        .collect()
}
