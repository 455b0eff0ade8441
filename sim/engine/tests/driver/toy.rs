//! A toy family over a toy transport: two machines are all that the driver asks for.
//!
//! The application's one message is stored where it arrives. The transport sends every message in two
//! datagrams and delivers the first to come. The Python half of a family is
//! tests/system/test_toy.py.

use crate::common::{arrive, plan, run, times, Closed, LATENCY_S};
use _engine::driver::Driver;
use pocketsim_protocols::contract::{
    AppRequest, Application, Datagram, Delivery, Event, EventKind, Machine, MessageId, NodeId,
    Operation, Output, OutputsOf, Path, Payload, Seconds, Transport,
};

/// The message: the number of what it is about.
#[derive(Clone)]
struct Greeting(MessageId);

impl Payload for Greeting {
    fn wire_bytes(&self) -> u32 {
        GREETING_BYTES
    }

    fn message_id(&self) -> MessageId {
        self.0
    }
}

/// The application.
struct Greeter {
    node: NodeId,
    said: u32,
}

impl Machine for Greeter {
    type Message = Greeting;
    type Request = AppRequest<Greeting>;
    type Value = ();

    fn receive(&mut self, from: NodeId, heard: Greeting, _: Seconds, out: &mut OutputsOf<Self>) {
        let event = Event::new(EventKind::Store, heard.0, from, GREETING_BYTES);
        out.push(Output::Observe(event));
    }

    fn command(&mut self, request: Self::Request, _: Seconds, out: &mut OutputsOf<Self>) {
        let AppRequest::Transact { peer, .. } = request else {
            return;
        };
        let greeting = Greeting(MessageId::new(self.node, self.said));
        self.said += 1;
        let event = Event::new(EventKind::Send, greeting.0, peer, GREETING_BYTES);
        out.push(Output::Observe(event));
        out.push(Output::Send {
            to: peer,
            message: greeting,
        });
    }

    fn handle_timeout(&mut self, _: Seconds, _: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl Application for Greeter {
    type Block = Greeting;
}

/// The transport.
#[derive(Default)]
struct Twice {
    heard: Vec<MessageId>,
}

impl Machine for Twice {
    type Message = Datagram<Greeting>;
    type Request = ();
    type Value = Delivery<Greeting>;

    fn receive(
        &mut self,
        from: NodeId,
        datagram: Self::Message,
        _: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        out.push(Output::Work {
            operation: Operation::UdpReceive,
            bytes: datagram.udp_payload_bytes,
        });
        let greeting = datagram.body;
        if !self.heard.contains(&greeting.0) {
            self.heard.push(greeting.0);
            let value = Delivery::Received(greeting);
            out.push(Output::Deliver { from, value });
        }
    }

    fn command(&mut self, (): (), _: Seconds, _: &mut OutputsOf<Self>) {}

    fn handle_timeout(&mut self, _: Seconds, _: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl Transport<Greeting> for Twice {
    type Body = Greeting;

    fn transmit(&mut self, to: NodeId, greeting: Greeting, _: Seconds, out: &mut OutputsOf<Self>) {
        for _ in 0..2 {
            let message = Datagram {
                udp_payload_bytes: greeting.wire_bytes(),
                path: Path::Direct,
                message: Some(greeting.message_id()),
                body: greeting.clone(),
            };
            out.push(Output::Send { to, message });
        }
    }

    fn shut_down(&mut self, _: Seconds) -> Vec<(NodeId, Delivery<Greeting>)> {
        Vec::new()
    }
}

#[test]
fn two_machines_are_all_that_a_family_and_a_transport_take() {
    let mut plan = plan(3);
    arrive(&mut plan, 1.0, 0, 1);
    arrive(&mut plan, 2.0, 2, 0);
    let (world, end) = (Closed::default(), plan.duration_s);
    let mut driver = Driver::new(plan, world.clone(), |node| {
        let greeter = Greeter {
            node: NodeId(node),
            said: 0,
        };
        (greeter, Twice::default())
    });
    run(&world, &mut driver, end);
    let (trace, _) = driver.finish();
    assert_eq!(times(&trace, EventKind::Send), [1.0, 2.0]);
    let stored = times(&trace, EventKind::Store);
    assert_eq!(stored.len(), 2);
    for (stored_s, sent_s) in stored.iter().zip([1.0, 2.0]) {
        assert!(stored_s - sent_s > LATENCY_S, "{stored_s}");
    }
    assert_eq!(trace.counters()["datagrams_sent"], 4);
}

const GREETING_BYTES: u32 = 10;
