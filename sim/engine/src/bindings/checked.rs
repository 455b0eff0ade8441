//! A machine of somebody's own, whose every answer is checked before the driver takes it.
//!
//! Machines of the engine's own are trusted. Of these the first wrong answer, or a panic, ends the
//! run, and what is said of it has the simulated time and the phone.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::rc::Rc;

use pocketsim_protocols::contract::{
    AppRequest, Application, Event, EventKind, Machine, MessageId, NodeId, Output, OutputsOf,
    Payload, Seconds,
};

use crate::base::progress::Brake;

/// What all machines of a run have in common.
pub(crate) struct Shared {
    /// How many operations the scenario brings.
    operations: u32,
    /// How many names there are of what is observed.
    observed: u32,
    /// How many transactions each phone has proposed.
    proposed: RefCell<Vec<u32>>,
    brake: Brake,
    /// What is said of the first failure.
    failed: RefCell<Option<String>>,
}

impl Shared {
    /// Of `phones` phones, with `operations` that the scenario brings and `observed` names.
    pub(crate) fn new(phones: usize, operations: usize, observed: usize, brake: Brake) -> Self {
        Self {
            operations: operations as u32,
            observed: observed as u32,
            proposed: RefCell::new(vec![0; phones]),
            brake,
            failed: RefCell::default(),
        }
    }

    /// What is said of the first failure, if there was one.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failed.take()
    }

    /// A machine says that it begins a transaction, which has to be its next one.
    fn propose(&self, node: NodeId, message: MessageId) -> Result<(), String> {
        let next = &mut self.proposed.borrow_mut()[node.0 as usize];
        if message != MessageId::new(node, *next) {
            let (origin, sequence) = (message.origin().0, message.sequence());
            return Err(format!(
                "a row send of transaction {sequence} of phone {origin}; this phone's next is {next}"
            ));
        }
        *next += 1;
        Ok(())
    }

    fn know(&self, message: MessageId) -> Result<(), String> {
        let (origin, sequence) = (message.origin().0, message.sequence());
        let proposed = self.proposed.borrow();
        match proposed.get(origin as usize) {
            Some(&count) if sequence < count => Ok(()),
            _ => Err(format!(
                "transaction {sequence} of phone {origin} has no row send"
            )),
        }
    }
}

/// A machine whose answers are checked.
pub(crate) struct Checked<A> {
    node: NodeId,
    machine: A,
    shared: Rc<Shared>,
    /// When it wants to be woken, and what for.
    timeout: Option<(Seconds, &'static str)>,
    /// When it was last asked something, and how often at that time.
    asked: (Seconds, u32),
}

impl<A: Application> Checked<A> {
    /// The machine of phone `node`.
    pub(crate) fn new(node: u32, machine: A, shared: Rc<Shared>) -> Self {
        let mut made = Self {
            node: NodeId(node),
            machine,
            shared,
            timeout: None,
            asked: (0.0, 0),
        };
        if let Err(reason) = made.look_at_timeout(0.0) {
            made.fail(0.0, &reason);
        }
        made
    }

    /// Asks the machine something and checks what it adds to `out`; whatever is wrong ends the run.
    fn ask(
        &mut self,
        now: Seconds,
        out: &mut OutputsOf<A>,
        call: impl FnOnce(&mut A, &mut OutputsOf<A>),
    ) {
        if self.shared.failed.borrow().is_some() {
            return;
        }
        let (begin, machine) = (out.len(), &mut self.machine);
        let done = caught(|| call(machine, out))
            .and_then(|()| out[begin..].iter().try_for_each(|one| self.check(one)))
            .and_then(|()| self.count(now))
            .and_then(|()| self.look_at_timeout(now));
        if let Err(reason) = done {
            out.truncate(begin);
            self.fail(now, &reason);
        }
    }

    fn fail(&mut self, now: Seconds, reason: &str) {
        let time_s = format!("{now:.9}"); // as precise as Python's failures
        let time_s = time_s.trim_end_matches('0').trim_end_matches('.');
        let said = format!("at {time_s} s on phone {}: {reason}", self.node.0);
        self.timeout = None;
        self.shared.failed.borrow_mut().get_or_insert(said);
        self.shared.brake.pull();
    }

    /// Asks when it wants to be woken. A time that has passed is one that it waits for already.
    fn look_at_timeout(&mut self, now: Seconds) -> Result<(), String> {
        let timeout = caught(|| self.machine.next_timeout())?;
        if let Some((time_s, _)) = timeout {
            let is_waited_for = self.timeout.is_some_and(|(before_s, _)| before_s == time_s);
            if !time_s.is_finite() || (time_s < now && !is_waited_for) {
                return Err(format!(
                    "a timeout at {time_s} s, which is no time from now on"
                ));
            }
        }
        self.timeout = timeout;
        Ok(())
    }

    fn check(&self, output: &OutputOf<A>) -> Result<(), String> {
        let phones = self.shared.proposed.borrow().len() as u32;
        match output {
            Output::Send { to, .. } if to.0 >= phones || *to == self.node => Err(format!(
                "a message to phone {}, not to another of 0 to {}",
                to.0,
                phones - 1
            )),
            Output::Send { message, .. } => self.shared.know(message.message_id()),
            Output::OwnWork { number, .. } if *number >= self.shared.operations => Err(format!(
                "work {number}, but the scenario has {} [operations]",
                self.shared.operations
            )),
            Output::Observe(event) => self.check_row(event),
            _ => Ok(()),
        }
    }

    fn check_row(&self, event: &Event) -> Result<(), String> {
        match event.kind {
            EventKind::Send => self.shared.propose(self.node, event.message),
            EventKind::Deliver => self.shared.know(event.message),
            EventKind::Lose if event.reason.is_none() => {
                Err("a row lose without reason".to_owned())
            }
            EventKind::Lose => self.shared.know(event.message),
            EventKind::Observe if event.peer.0 >= self.shared.observed => Err(format!(
                "a row observe of name {}, of {}",
                event.peer.0, self.shared.observed
            )),
            EventKind::Observe if event.size_bytes > i32::MAX as u32 => {
                Err(format!("observes {}, not below 2^31", event.size_bytes))
            }
            EventKind::Observe => Ok(()),
            other => Err(format!("a row {}, which is not its to write", other.name())),
        }
    }

    /// Counts what it is asked at one time.
    fn count(&mut self, now: Seconds) -> Result<(), String> {
        self.asked = match self.asked {
            (time_s, count) if time_s == now => (now, count + 1),
            _ => (now, 1),
        };
        if self.asked.1 <= INPUTS_AT_ONCE_MAX {
            return Ok(());
        }
        Err(format!(
            "was asked {INPUTS_AT_ONCE_MAX} times and time did not go on"
        ))
    }
}

type OutputOf<A> = Output<<A as Machine>::Message, <A as Machine>::Request, <A as Machine>::Value>;

impl<A: Application> Machine for Checked<A> {
    type Message = A::Block;
    type Request = AppRequest<A::Block>;
    type Value = ();

    fn receive(&mut self, from: NodeId, block: A::Block, now: Seconds, out: &mut OutputsOf<A>) {
        self.ask(now, out, |machine, out| {
            machine.receive(from, block, now, out);
        });
    }

    fn command(&mut self, request: Self::Request, now: Seconds, out: &mut OutputsOf<A>) {
        self.ask(now, out, |machine, out| machine.command(request, now, out));
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<A>) {
        self.timeout = None; // that it asked for is over, so it may not ask for it again
        self.ask(now, out, |machine, out| machine.handle_timeout(now, out));
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        self.timeout
    }
}

impl<A: Application> Application for Checked<A> {
    type Block = A::Block;
}

thread_local! {
    static PANIC: Cell<String> = const { Cell::new(String::new()) };
}

/// Keeps what the last panic said, and where, beside what is done with it anyway.
pub(crate) fn remember_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANIC.set(said(info));
        before(info);
    }));
}

fn said(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let place = info.location().map_or_else(String::new, |place| {
        format!("{}:{}: ", place.file(), place.line())
    });
    format!("{place}{}", text.unwrap_or("panicked"))
}

/// Returns what `call` does, or of its panic what was said.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    // Whatever the panic left half done, nobody asks it again.
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|_| PANIC.take())
}

// Far more than arrives at one phone at one moment, even where links and work cost nothing.
const INPUTS_AT_ONCE_MAX: u32 = 100_000;

#[cfg(test)]
mod tests {
    use pocketsim_protocols::contract::{Operation, Reason};

    use super::*;

    type Answers = fn(&mut OutputsOf<Scripted>);

    /// Answers everything with the same, and wants to be woken at some time.
    struct Scripted(Answers, Option<Seconds>);

    #[derive(Clone, Debug, PartialEq)]
    struct Message(MessageId);

    impl Payload for Message {
        fn wire_bytes(&self) -> u32 {
            1
        }

        fn message_id(&self) -> MessageId {
            self.0
        }
    }

    impl Machine for Scripted {
        type Message = Message;
        type Request = AppRequest<Message>;
        type Value = ();

        fn receive(&mut self, _: NodeId, _: Message, _: Seconds, out: &mut OutputsOf<Self>) {
            self.0(out);
        }

        fn command(&mut self, _: Self::Request, _: Seconds, out: &mut OutputsOf<Self>) {
            self.0(out);
        }

        fn handle_timeout(&mut self, _: Seconds, out: &mut OutputsOf<Self>) {
            self.0(out);
        }

        fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
            self.1.map(|time_s| (time_s, "to see"))
        }
    }

    impl Application for Scripted {
        type Block = Message;
    }

    fn checked(answers: Answers) -> (Checked<Scripted>, Brake) {
        remember_panics();
        let brake = Brake::default();
        let shared = Shared::new(2, 1, 1, brake.clone());
        let machine = Scripted(answers, None);
        (Checked::new(0, machine, Rc::new(shared)), brake)
    }

    fn id(sequence: u32) -> MessageId {
        MessageId::new(NodeId(0), sequence)
    }

    fn row(kind: EventKind, sequence: u32) -> Event {
        Event::new(kind, id(sequence), NodeId(0), 1)
    }

    fn send(to: u32, sequence: u32) -> Output<Message, AppRequest<Message>, ()> {
        Output::Send {
            to: NodeId(to),
            message: Message(id(sequence)),
        }
    }

    #[test]
    fn what_is_right_is_handed_on() {
        let (mut machine, brake) = checked(|out| {
            out.push(Output::Observe(row(EventKind::Send, 0)));
            out.push(Output::OwnWork {
                number: 0,
                bytes: 9,
            });
            out.push(Output::Work {
                operation: Operation::Sign,
                bytes: 9,
            });
            out.push(send(1, 0));
            out.push(Output::Observe(row(EventKind::Observe, u32::MAX)));
            out.push(Output::Observe(row(EventKind::Deliver, 0)));
            let lost = row(EventKind::Lose, 0).because(Reason::LinkLoss);
            out.push(Output::Observe(lost));
        });
        let mut out = Vec::new();
        machine.handle_timeout(1.0, &mut out);
        assert_eq!(out.len(), 7);
        assert_eq!(machine.shared.failure(), None);
        assert!(!brake.is_pulled());
    }

    #[test]
    fn the_first_wrong_answer_ends_the_run_and_says_why() {
        let cases: [(Answers, &str); 10] = [
            (
                |out| out.push(send(2, 0)),
                "a message to phone 2, not to another of 0 to 1",
            ),
            (
                |out| out.push(send(0, 0)),
                "a message to phone 0, not to another of 0 to 1",
            ),
            (
                |out| out.push(send(1, 0)),
                "transaction 0 of phone 0 has no row send",
            ),
            (
                |out| {
                    out.push(Output::OwnWork {
                        number: 1,
                        bytes: 0,
                    })
                },
                "work 1, but the scenario has 1 [operations]",
            ),
            (
                |out| out.push(Output::Observe(row(EventKind::Send, 1))),
                "a row send of transaction 1 of phone 0; this phone's next is 0",
            ),
            (
                |out| out.push(Output::Observe(row(EventKind::Deliver, 0))),
                "transaction 0 of phone 0 has no row send",
            ),
            (
                |out| out.push(Output::Observe(row(EventKind::Lose, 0))),
                "a row lose without reason",
            ),
            (
                |out| out.push(Output::Observe(row(EventKind::Store, 0))),
                "a row store, which is not its to write",
            ),
            (
                |out| {
                    let name = Event::new(EventKind::Observe, id(0), NodeId(1), 0);
                    out.push(Output::Observe(name));
                },
                "a row observe of name 1, of 1",
            ),
            (|_| panic!("oh {}", "no"), "oh no"),
        ];
        for (answers, expected) in cases {
            let (mut machine, brake) = checked(answers);
            let mut out = Vec::new();
            machine.handle_timeout(1.5, &mut out);
            assert_eq!(out, []);
            assert!(brake.is_pulled());
            machine.handle_timeout(1.5, &mut out);
            assert_eq!(machine.next_timeout(), None);
            let said = machine.shared.failure().expect("it failed");
            assert!(said.starts_with("at 1.5 s on phone 0: "), "{said}");
            assert!(said.ends_with(expected), "{said}");
        }
    }

    #[test]
    fn a_panic_says_where() {
        let (mut machine, _) = checked(|_| panic!("oh no"));
        machine.handle_timeout(1.5, &mut Vec::new());
        let said = machine.shared.failure().expect("it failed");
        assert!(said.contains(&format!("{}:", file!())), "{said}");
    }

    #[test]
    fn a_timeout_has_to_be_a_time_that_has_not_passed() {
        for time_s in [f64::NAN, f64::INFINITY, 1.9] {
            let (mut machine, brake) = checked(|_| ());
            machine.machine.1 = Some(time_s);
            machine.handle_timeout(2.0, &mut Vec::new());
            assert_eq!(machine.next_timeout(), None);
            assert!(brake.is_pulled());
        }
    }

    #[test]
    fn a_timeout_that_has_passed_may_still_be_waited_for_until_it_is_handled() {
        let (mut machine, brake) = checked(|_| ());
        machine.machine.1 = Some(2.0);
        let mut receive = |now| {
            machine.receive(NodeId(1), Message(id(0)), now, &mut Vec::new());
            machine.next_timeout()
        };
        assert_eq!(receive(1.0), Some((2.0, "to see")));
        assert_eq!(receive(3.0), Some((2.0, "to see")));
        assert!(!brake.is_pulled());
        machine.handle_timeout(3.0, &mut Vec::new());
        assert!(brake.is_pulled());
    }

    #[test]
    fn who_is_asked_for_ever_at_one_time_is_stopped() {
        let (mut machine, brake) = checked(|_| ());
        for _ in 0..INPUTS_AT_ONCE_MAX {
            machine.handle_timeout(1.0, &mut Vec::new());
        }
        assert!(!brake.is_pulled());
        machine.handle_timeout(1.0, &mut Vec::new());
        let said = machine.shared.failure().expect("it failed");
        assert!(said.ends_with("and time did not go on"), "{said}");
    }
}
