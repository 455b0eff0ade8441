//! Complete messages that the app has not looked at yet.
//!
//! The benchmark app looks for finished streams every 10 ms, on the connections
//! that it accepted; the answer on a connection that it dialled is awaited where
//! the message was sent. (Which of the two is polled is not published. Inferred:
//! the published median of iroh exceeds UDP's by 6.4 ms, one look and not two.)
//! A timer runs only while something waits for such a look.

use std::collections::BTreeMap;

use super::wire::{ConnectionId, Half};
use super::{Out, Request, Step};
use crate::contract::{
    work, Delivery, Lane, MessageId, NodeId, Operation, Output, Payload, Seconds,
};

/// A half of a stream of a connection.
type StreamId = (ConnectionId, Half);

/// A message and where it is to be served.
#[derive(Clone, Debug)]
struct Waiting<P> {
    from: NodeId,
    app: Lane,
    payload: P,
}

/// What arrived and was not served.
#[derive(Clone, Debug)]
pub(super) struct Inbox<P> {
    node: NodeId,
    interval_s: Seconds,
    phase_s: Seconds,
    poll_s: Seconds,
    unseen: Vec<StreamId>,
    waiting: BTreeMap<StreamId, Waiting<P>>,
}

impl<P: Payload> Inbox<P> {
    /// Empty, of phone `node`, looked at every `interval_s` from `phase_s` on; 0 for at once.
    pub fn new(node: NodeId, interval_s: Seconds, phase_s: Seconds) -> Self {
        Self {
            node,
            interval_s,
            phase_s,
            poll_s: Seconds::INFINITY,
            unseen: Vec::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// A message is complete; the app serves it on lane `app`.
    pub fn arrive(
        &mut self,
        stream: StreamId,
        from: NodeId,
        app: Lane,
        payload: P,
        now: Seconds,
        out: &mut Out<P>,
    ) {
        self.waiting.insert(stream, Waiting { from, app, payload });
        if self.interval_s <= 0.0 || stream.0.dialler == self.node {
            return post(stream, app, out);
        }
        self.unseen.push(stream);
        self.poll_s = self.poll_s.min(self.next_look_s(now));
    }

    /// The app's next look, not before `now`.
    fn next_look_s(&self, now: Seconds) -> Seconds {
        let looks = ((now - self.phase_s) / self.interval_s).ceil();
        (self.phase_s + looks * self.interval_s).max(now)
    }

    /// When the app looks next, if there is anything to see.
    pub fn next_poll(&self) -> Option<(Seconds, &'static str)> {
        let waits = self.poll_s.is_finite();
        waits.then_some((self.poll_s, "quic app poll"))
    }

    /// The app looks, if it is time.
    pub fn poll(&mut self, now: Seconds, out: &mut Out<P>) {
        if self.poll_s > now {
            return;
        }
        self.poll_s = Seconds::INFINITY;
        for stream in std::mem::take(&mut self.unseen) {
            let app = self.waiting[&stream].app;
            post(stream, app, out);
        }
    }

    /// The transaction of a message that waits.
    pub fn message(&self, stream: StreamId) -> Option<MessageId> {
        let waiting = self.waiting.get(&stream)?;
        Some(waiting.payload.message_id())
    }

    /// The app takes one message.
    pub fn serve(&mut self, stream: StreamId, out: &mut Out<P>) {
        let Some(Waiting { from, app, payload }) = self.waiting.remove(&stream) else {
            return;
        };
        let awaited = stream.0.dialler == self.node;
        let operation = match awaited {
            true => Operation::TaskSpawn,
            false => Operation::StreamAccept,
        };
        work(out, operation, 0);
        let value = Delivery::Received(payload);
        out.push(Output::Deliver { from, value });
        let (connection, half) = stream;
        let lane = Lane(app.0 - 1);
        let step = Step::Finish(half);
        out.push(Output::Post {
            lane,
            request: Request { connection, step },
        });
    }

    /// Forgets and returns everything, in order, with the peer it came from.
    pub fn take_all(&mut self) -> impl Iterator<Item = (NodeId, Delivery<P>)> {
        self.unseen.clear();
        self.poll_s = Seconds::INFINITY;
        let waiting = std::mem::take(&mut self.waiting);
        let received = |waiting: Waiting<P>| (waiting.from, Delivery::Received(waiting.payload));
        waiting.into_values().map(received)
    }
}

fn post<P>((connection, half): StreamId, lane: Lane, out: &mut Out<P>) {
    let step = Step::Serve(half);
    out.push(Output::Post {
        lane,
        request: Request { connection, step },
    });
}
