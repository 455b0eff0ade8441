//! The streams of one connection: a message each, whole or in parts.
//!
//! The opening side sends the message and closes its half; the accepting side
//! serves it, then closes the other half: empty, which returns credit, or with an answer, which does
//! so once it is acknowledged.
//! Flow control by bytes is not modelled: quinn's windows (1.25 MB per stream)
//! are far above any message here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::ranges::Ranges;
use super::wire::{Extent, Frame, Half, Record};
use crate::contract::{Payload, Reason};

/// A message on its way.
#[derive(Clone, Debug)]
struct Outgoing<P> {
    payload: P,
    unacknowledged_bytes: u32,
    served: bool,
}

/// A message of which some parts came.
#[derive(Clone, Debug)]
struct Incoming<P> {
    received: Ranges,
    end: Option<u32>,
    payload: Option<P>,
    served: bool,
}

/// Both directions of one connection.
#[derive(Clone, Debug)]
pub(super) struct Streams<P> {
    /// Messages without a stream yet, and why they have none is the caller's business.
    pub waiting: VecDeque<P>,
    /// How many of them, the last, were only handed to the connection: their tasks are still to run.
    unwritten: usize,
    /// Answers that are not on their streams yet.
    answers: VecDeque<(u32, P)>,
    /// Complete messages that the connection has not handed on yet.
    pub arrived: Vec<(Half, P)>,
    outgoing: BTreeMap<Half, Outgoing<P>>,
    stalled: Vec<P>,
    opened: u32,
    credit: u32,
    incoming: BTreeMap<Half, Incoming<P>>,
    /// Messages that are whole, by their streams: those that opened them, and answers.
    complete: [Ranges; 2],
    /// Streams of the other side that have an answer, and that the app is not done with.
    answered: BTreeSet<u32>,
    /// Messages on streams of the other side that were served.
    served: u32,
    /// Streams of the other side that are over: served, and their answers acknowledged.
    finished: u32,
    /// How many streams the other side knows that it may have opened.
    granted: u32,
    /// Answers on own streams that were served.
    heard: u32,
}

impl<P: Payload> Streams<P> {
    /// No stream open, initial credit both ways.
    pub fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            unwritten: 0,
            answers: VecDeque::new(),
            arrived: Vec::new(),
            outgoing: BTreeMap::new(),
            stalled: Vec::new(),
            opened: 0,
            credit: CONCURRENT_STREAMS,
            incoming: BTreeMap::new(),
            complete: [const { Ranges::new() }; 2],
            answered: BTreeSet::new(),
            served: 0,
            finished: 0,
            granted: CONCURRENT_STREAMS,
            heard: 0,
        }
    }

    /// A message waits for its task, which will [write](Self::write) it.
    pub fn hand_over(&mut self, payload: P) {
        self.waiting.push_back(payload);
        self.unwritten += 1;
    }

    /// The task of the next message runs, and asks for a stream.
    pub fn write(&mut self) {
        self.unwritten = self.unwritten.saturating_sub(1);
    }

    /// Opens a stream for the next waiting message that asks for one, if credit allows.
    pub fn open_next(&mut self, served: bool) -> Option<Record> {
        if self.opened == self.credit || self.waiting.len() <= self.unwritten {
            return None;
        }
        let payload = self.waiting.pop_front()?;
        let half = Half::opened(self.opened);
        self.opened += 1;
        Some(self.say(half, payload, served))
    }

    /// A message is to answer what came on a stream of the other side's, on that stream.
    pub fn answer(&mut self, stream: u32, payload: P) {
        self.answered.insert(stream);
        self.answers.push_back((stream, payload));
    }

    /// The next answer.
    pub fn next_answer(&mut self) -> Option<Record> {
        let (stream, payload) = self.answers.pop_front()?;
        Some(self.say(Half::answer(stream), payload, true))
    }

    fn say(&mut self, half: Half, payload: P, served: bool) -> Record {
        let length = payload.wire_bytes();
        let outgoing = Outgoing {
            payload,
            // The end of the stream counts as a byte, so that an empty message has something to lose.
            unacknowledged_bytes: length + 1,
            served,
        };
        self.outgoing.insert(half, outgoing);
        Record::Chunk(Extent {
            half,
            offset: 0,
            length,
            last: true,
        })
    }

    /// The frame of a record of this connection.
    pub fn frame(&self, record: Record) -> Option<Frame<P>> {
        match record {
            Record::Control(control) => Some(Frame::Control(control)),
            Record::Finish(stream) => Some(Frame::Finish {
                stream,
                max_streams: self.max_streams(),
            }),
            Record::Credit { max_streams } => Some(Frame::Credit(max_streams)),
            Record::MtuProbe => Some(Frame::MtuProbe),
            Record::Chunk(extent) => {
                let outgoing = self.outgoing.get(&extent.half)?;
                Some(Frame::Chunk {
                    extent,
                    served: outgoing.served,
                    payload: extent.last.then(|| outgoing.payload.clone()),
                })
            }
        }
    }

    /// The peer has `extent`.
    pub fn on_acknowledged(&mut self, extent: Extent) {
        let Some(outgoing) = self.outgoing.get_mut(&extent.half) else {
            return;
        };
        outgoing.unacknowledged_bytes -= extent.length + u32::from(extent.last);
        if outgoing.unacknowledged_bytes > 0 {
            return;
        }
        let done = self.outgoing.remove(&extent.half);
        if extent.half.is_answer && !self.answered.contains(&extent.half.stream) {
            self.finished += 1;
        }
        if let Some(Outgoing {
            payload,
            served: false,
            ..
        }) = done
        {
            self.stalled.push(payload);
        }
    }

    /// Part of a message came, perhaps not for the first time.
    pub fn on_chunk(&mut self, extent: Extent, served: bool, payload: Option<P>) {
        if self.complete[usize::from(extent.half.is_answer)].contains(extent.half.stream) {
            return;
        }
        let incoming = self
            .incoming
            .entry(extent.half)
            .or_insert_with(|| Incoming {
                received: Ranges::default(),
                end: None,
                payload: None,
                served,
            });
        let end = extent.offset + extent.length;
        incoming.received.insert(extent.offset, end);
        if extent.last {
            (incoming.end, incoming.payload) = (Some(end), payload);
        }
        let whole = incoming
            .end
            .is_some_and(|end| incoming.received.is_whole(end));
        if whole {
            self.complete_half(extent.half);
        }
    }

    fn complete_half(&mut self, half: Half) {
        self.complete[usize::from(half.is_answer)].insert(half.stream, half.stream + 1);
        let incoming = self.incoming.remove(&half);
        if let Some(Incoming {
            payload: Some(payload),
            served: true,
            ..
        }) = incoming
        {
            self.arrived.push((half, payload));
        }
    }

    /// The app is done with what came on a half of a stream; what to send then.
    pub fn finish(&mut self, half: Half) -> Option<Record> {
        if half.is_answer {
            self.heard += 1;
            return None;
        }
        self.served += 1;
        if !self.answered.remove(&half.stream) {
            self.finished += 1;
            self.granted = self.max_streams();
            return Some(Record::Finish(half.stream));
        }
        let is_said = self.is_said(half.stream);
        self.finished += u32::from(is_said);
        None
    }

    /// Whether the answer on a stream of the other side is acknowledged.
    fn is_said(&self, stream: u32) -> bool {
        let waits = self.answers.iter().any(|(waiting, _)| *waiting == stream);
        !waits && !self.outgoing.contains_key(&Half::answer(stream))
    }

    fn max_streams(&self) -> u32 {
        self.finished + CONCURRENT_STREAMS
    }

    /// Whether the other side is to learn of streams that ended with their answers: by the dozen.
    pub fn owes_credit(&self) -> bool {
        self.max_streams() - self.granted > CONCURRENT_STREAMS / CREDIT_PARTS
    }

    /// As many streams as there may be now, for a packet that leaves.
    pub fn credit(&mut self) -> Record {
        self.granted = self.max_streams();
        Record::Credit {
            max_streams: self.granted,
        }
    }

    /// Whether the app is done with any message that came.
    pub fn has_served(&self) -> bool {
        self.served + self.heard > 0
    }

    /// The peer allows `max_streams` in all.
    pub fn on_credit(&mut self, max_streams: u32) {
        self.credit = self.credit.max(max_streams);
    }

    /// Whether nothing is left to be acknowledged.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.answers.is_empty() && self.outgoing.is_empty()
    }

    /// Whether nothing is left to be sent, acknowledged or put together.
    pub fn is_silent(&self) -> bool {
        self.is_idle() && self.incoming.is_empty() && self.arrived.is_empty()
    }

    /// Gives back the memory of what was, while nothing is.
    pub fn shed(&mut self) {
        (self.waiting, self.answers, self.arrived) = Default::default();
        self.unwritten = 0;
        (self.outgoing, self.incoming) = (BTreeMap::new(), BTreeMap::new());
    }

    /// Everything that did not reach the peer's app: acknowledged but never
    /// served, on its way, waiting; `reason` applies to the last two.
    pub fn give_up(&mut self, reason: Reason) -> Vec<(P, Reason)> {
        let stalled = std::mem::take(&mut self.stalled);
        let outgoing = std::mem::take(&mut self.outgoing);
        let waiting = std::mem::take(&mut self.waiting);
        self.unwritten = 0;
        let answers = std::mem::take(&mut self.answers).into_iter();
        let answers = answers.map(|(_, payload)| payload);
        let unserved = stalled
            .into_iter()
            .map(|payload| (payload, Reason::Unserved));
        let sent = outgoing.into_values().map(|outgoing| outgoing.payload);
        let rest = sent
            .chain(answers)
            .chain(waiting)
            .map(|payload| (payload, reason));
        unserved.chain(rest).collect()
    }
}

/// quinn's default limit of concurrent bidirectional streams
/// (quinn-proto `TransportConfig::default`).
const CONCURRENT_STREAMS: u32 = 100;

/// What part of them must have ended before the other side is told
/// (quinn-proto `StreamsState::queue_max_stream_id`).
const CREDIT_PARTS: u32 = 8;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::contract::{MessageId, NodeId};

    #[derive(Clone, Debug, PartialEq)]
    pub struct Bytes(u32);
    impl Payload for Bytes {
        fn wire_bytes(&self) -> u32 {
            self.0
        }
        fn message_id(&self) -> MessageId {
            MessageId::new(NodeId(0), self.0)
        }
    }

    fn extent(offset: u32, length: u32, last: bool) -> Extent {
        Extent {
            half: Half::opened(0),
            offset,
            length,
            last,
        }
    }

    #[test]
    fn parts_in_any_order_make_one_message() {
        let mut streams = Streams::new();
        streams.on_chunk(extent(200, 50, true), true, Some(Bytes(250)));
        streams.on_chunk(extent(100, 100, false), true, None);
        assert!(streams.arrived.is_empty());
        streams.on_chunk(extent(0, 100, false), true, None);
        streams.on_chunk(extent(0, 100, false), true, None);
        streams.on_chunk(extent(0, 250, true), true, Some(Bytes(250)));
        assert_eq!(streams.arrived, [(Half::opened(0), Bytes(250))]);
    }

    #[test]
    fn credit_ends_after_a_hundred_and_comes_back() {
        let mut streams = Streams::new();
        streams.waiting.extend((0..102).map(Bytes));
        let opened = std::iter::from_fn(|| streams.open_next(true)).count();
        assert_eq!(opened, 100);
        streams.on_credit(101);
        // It came before the other and is late.
        streams.on_credit(100);
        assert!(streams.open_next(true).is_some() && streams.open_next(true).is_none());
    }

    #[test]
    fn who_was_only_handed_over_asks_for_no_stream() {
        let mut streams = Streams::new();
        streams.waiting.push_back(Bytes(1));
        streams.hand_over(Bytes(2));
        streams.hand_over(Bytes(3));
        assert!(streams.open_next(true).is_some() && streams.open_next(true).is_none());
        for _ in 0..2 {
            streams.write();
            assert!(streams.open_next(true).is_some() && streams.open_next(true).is_none());
        }
        streams.hand_over(Bytes(4));
        assert!(streams.open_next(true).is_none() && !streams.is_idle());
        assert_eq!(streams.give_up(Reason::SenderOff).len(), 4);
        streams.waiting.push_back(Bytes(5));
        assert!(streams.open_next(true).is_some());
    }

    /// A message of the other side's on a stream is answered on it.
    fn answered(streams: &mut Streams<Bytes>, stream: u32) -> Extent {
        let half = Half::opened(stream);
        streams.on_chunk(
            Extent {
                half,
                ..extent(0, 5, true)
            },
            true,
            Some(Bytes(5)),
        );
        streams.answer(stream, Bytes(7));
        assert_eq!(streams.finish(half), None);
        let Some(Record::Chunk(answer)) = streams.next_answer() else {
            panic!("an answer");
        };
        answer
    }

    #[test]
    fn streams_are_over_when_their_answers_are_acknowledged_and_told_of_by_the_dozen() {
        let mut streams = Streams::new();
        let answers: Vec<_> = (0..14)
            .map(|stream| answered(&mut streams, stream))
            .collect();
        assert!(!streams.owes_credit());
        for (count, answer) in (1..).zip(answers) {
            streams.on_acknowledged(answer);
            assert_eq!(streams.owes_credit(), count > 12, "{count}");
        }
        assert_eq!(streams.credit(), Record::Credit { max_streams: 114 });
        assert!(!streams.owes_credit());
    }

    #[test]
    fn an_answer_that_is_acknowledged_before_the_app_is_done_counts_once() {
        let mut streams: Streams<Bytes> = Streams::new();
        streams.answer(0, Bytes(7));
        let Some(Record::Chunk(answer)) = streams.next_answer() else {
            panic!("an answer");
        };
        streams.on_acknowledged(answer);
        assert_eq!(streams.credit(), Record::Credit { max_streams: 100 });
        streams.finish(Half::opened(0));
        assert_eq!(streams.credit(), Record::Credit { max_streams: 101 });
    }

    #[test]
    fn an_unserved_message_is_acknowledged_and_still_not_delivered() {
        let mut streams = Streams::new();
        streams.waiting.push_back(Bytes(5));
        streams.open_next(false);
        streams.on_acknowledged(extent(0, 5, true));
        assert!(streams.is_idle());
        let left = streams.give_up(Reason::IdleTimeout);
        assert_eq!(left, [(Bytes(5), Reason::Unserved)]);
    }

    #[test]
    fn an_empty_message_is_a_message() {
        let (mut sender, mut receiver) = (Streams::new(), Streams::new());
        sender.waiting.push_back(Bytes(0));
        let record = sender.open_next(true).unwrap();
        let Some(Frame::Chunk {
            extent,
            served,
            payload,
        }) = sender.frame(record)
        else {
            panic!("no chunk");
        };
        receiver.on_chunk(extent, served, payload);
        assert_eq!(receiver.arrived.len(), 1);
        sender.on_acknowledged(extent);
        assert!(sender.is_idle());
    }
}
