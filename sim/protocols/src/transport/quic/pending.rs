//! What waits to be sent in one packet number space, in the order in which it leaves.
//!
//! What controls the connection goes before data of streams, and streams take turns. What deliberately
//! does not live here: when packets leave, and what fits into them ([`super::flush`]).

use std::collections::VecDeque;

use super::wire::{Control, Extent, Half, Record};

/// Records, first first: those that control before all data.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending(VecDeque<Record>);

impl Pending {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the first.
    pub fn take(&mut self) -> Option<Record> {
        self.0.pop_front()
    }

    /// Puts back what does not fit.
    pub fn put_back(&mut self, record: Record) {
        self.0.push_front(record);
    }

    /// Whether credit for streams waits.
    pub fn has_credit(&self) -> bool {
        let mut controls = self.0.iter().take_while(|record| !record.is_data());
        controls.any(|record| matches!(record, Record::Credit { .. }))
    }

    /// Whether anything waits that controls the connection and does not only ask.
    pub fn controls(&self) -> bool {
        let mut controls = self.0.iter().take_while(|record| !record.is_data());
        controls.any(|record| !record.only_asks())
    }

    /// Lets what only asks leave first, unless it waits already.
    pub fn ask(&mut self, control: Control) {
        let record = Record::Control(control);
        let mut controls = self.0.iter().take_while(|queued| !queued.is_data());
        if !controls.any(|queued| *queued == record) {
            self.0.push_front(record);
        }
    }

    /// Queues what is to be sent: what controls the connection goes before data of streams, as
    /// quinn-proto puts packets together (`Connection::populate_packet`).
    pub fn queue(&mut self, record: Record) {
        let place = match record.is_data() {
            true => self.0.len(),
            false => self.0.partition_point(|queued| !queued.is_data()),
        };
        self.0.insert(place, record);
    }

    /// Queues the records of a lost packet: what controls the connection before all else, data of a
    /// stream where that waits already, in its order, or else after all that do (quinn-proto
    /// `StreamsState::retransmit`), what only asks never.
    pub fn send_again(&mut self, records: Vec<Record>) {
        let (data, control): (Vec<_>, Vec<_>) = records.into_iter().partition(Record::is_data);
        for record in data {
            let place = self.place_of(&record);
            self.0.insert(place, record);
            self.join(place + 1);
            self.join(place);
        }
        let has_credit = self.has_credit();
        let waits = |record: &Record| has_credit && matches!(record, Record::Credit { .. });
        let is_wanted = |record: &Record| !record.only_asks() && !waits(record);
        let control = control.into_iter().rev().filter(is_wanted);
        control.for_each(|record| self.0.push_front(record));
    }

    /// Where lost data of a stream is queued.
    fn place_of(&self, record: &Record) -> usize {
        let (Record::Chunk(lost), queued) = (record, self.0.iter().enumerate()) else {
            return self.0.len();
        };
        let chunks = queued.filter_map(|(place, record)| match record {
            Record::Chunk(extent) if extent.half == lost.half => Some((place, extent.offset)),
            _ => None,
        });
        let mut place = self.0.len();
        for (at, offset) in chunks {
            if offset > lost.offset {
                return at;
            }
            place = at + 1;
        }
        place
    }

    /// Makes one of the record at a place and the one before it, if it goes on where that ends.
    fn join(&mut self, place: usize) {
        let before = place.checked_sub(1).and_then(|before| self.0.get(before));
        let pair = (before.copied(), self.0.get(place).copied());
        let (Some(Record::Chunk(first)), Some(Record::Chunk(second))) = pair else {
            return;
        };
        if (first.half, first.offset + first.length) == (second.half, second.offset) {
            let length = first.length + second.length;
            self.0.remove(place);
            self.0[place - 1] = Record::Chunk(Extent {
                length,
                last: second.last,
                ..first
            });
        }
    }

    /// A packet took data of a stream: what is left of that stream waits until all others had their
    /// turn (quinn-proto `TransportConfig::send_fairness`).
    pub fn end_turn(&mut self, half: Half, rest: Option<Record>) {
        let is_of =
            |record: &Record| matches!(record, Record::Chunk(extent) if extent.half == half);
        let count = self.0.iter().take_while(|record| is_of(record)).count();
        self.0.rotate_left(count);
        if let Some(rest) = rest {
            let place = self.0.len() - count;
            self.0.insert(place, rest);
        }
    }
}

#[cfg(test)]
impl<const COUNT: usize> PartialEq<[Record; COUNT]> for Pending {
    fn eq(&self, due: &[Record; COUNT]) -> bool {
        self.0 == due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_leaves_after_the_data_that_waits_and_control_before_it() {
        let mut pending = Pending::default();
        let credit = Record::Credit { max_streams: 100 };
        let renew = Record::Control(Control::RetireConnectionId);
        pending.queue(Record::Finish(3));
        pending.queue(renew);
        let ping = Record::Control(Control::Ping);
        pending.send_again(vec![Record::Finish(1), credit, ping, Record::Finish(2)]);
        let data = [3, 1, 2].map(Record::Finish);
        assert_eq!(pending.0, [&[credit, renew], &data[..]].concat());
    }

    #[test]
    fn credit_that_was_lost_does_not_leave_twice() {
        let mut pending = Pending::default();
        let [lost, due] = [100, 0].map(|max_streams| Record::Credit { max_streams });
        pending.queue(due);
        pending.send_again(vec![lost]);
        assert_eq!(pending.0, [due]);
    }

    fn chunk(stream: u32, offset: u32) -> Record {
        Record::Chunk(Extent {
            half: Half {
                stream,
                is_answer: false,
            },
            offset,
            length: 10,
            last: false,
        })
    }

    #[test]
    fn what_was_lost_of_a_stream_that_waits_leaves_with_it_in_its_order() {
        let mut pending = Pending::default();
        for record in [chunk(1, 40), chunk(2, 0)] {
            pending.queue(record);
        }
        pending.send_again(vec![chunk(3, 0), chunk(1, 20), chunk(1, 0)]);
        let due = [(1, 0), (1, 20), (1, 40), (2, 0), (3, 0)];
        assert_eq!(pending.0, due.map(|(stream, at)| chunk(stream, at)));
        // One of its chunks leaves: the others wait until all streams had a turn, in their order.
        let Some(Record::Chunk(first)) = pending.take() else {
            panic!("it is a chunk");
        };
        pending.end_turn(first.half, Some(chunk(1, 5)));
        let due = [(2, 0), (3, 0), (1, 5), (1, 20), (1, 40)];
        assert_eq!(pending.0, due.map(|(stream, at)| chunk(stream, at)));
    }

    #[test]
    fn what_was_lost_of_a_stream_leaves_as_one_where_nothing_is_missing() {
        let mut pending = Pending::default();
        pending.queue(chunk(1, 20));
        pending.send_again(vec![chunk(1, 0), chunk(2, 10), chunk(1, 10), chunk(2, 30)]);
        let Record::Chunk(extent) = chunk(1, 0) else {
            panic!("it is a chunk");
        };
        let whole = Record::Chunk(Extent {
            length: 30,
            ..extent
        });
        assert_eq!(pending.0, [whole, chunk(2, 10), chunk(2, 30)]);
    }
}
