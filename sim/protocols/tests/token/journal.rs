//! The authority's journal: what is read back, what a crash leaves, what is damage.

use crate::tokens::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::token::*;
use proptest::prelude::*;

/// A journal with every kind of record, where each record ends, and the ledger it came from.
struct Story {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    ledgers: Vec<Ledger>,
}

impl Story {
    fn tell() -> Self {
        let mut world = World::<Counted>::thesis(4);
        let (mut journal, bytes) = Journal::snapshot(world.authority.ledger());
        let mut story = Self {
            ends: vec![bytes.len()],
            bytes,
            ledgers: vec![world.authority.ledger().clone()],
        };
        let mut write = |world: &World<Counted>, record: Option<Record>| {
            story
                .bytes
                .extend(journal.append(&record.expect("a change")));
            story.ends.push(story.bytes.len());
            story.ledgers.push(world.authority.ledger().clone());
        };
        let order = world.order(0, 100);
        let minted = world.authority.mint(&order, [0; 64], &mut Work::new());
        let (record, token) = minted.expect("fresh");
        write(&world, record);
        world.receive(0, token).expect("asked for");
        world.cheat(0, 1, &order.serial);
        world.pay(0, 2, &order.serial);
        for (client, intent) in [
            (1, Intent::Reissue),
            (2, Intent::Reissue),
            (1, Intent::Redeem),
        ] {
            let submission = world.submit(client, &order.serial, intent);
            let decision = world.decide(&submission);
            world.clients[client].settle(decision.answer, &mut Work::new());
            write(&world, decision.record);
        }
        let order = world.order(3, 5);
        let minted = world.authority.mint(&order, [255; 64], &mut Work::new());
        write(&world, minted.expect("fresh").0);
        let blacklisted = world.authority.blacklist(&order.serial);
        write(&world, blacklisted);
        story
    }

    fn records(&self) -> Vec<Record> {
        let record = |pair: &[usize]| {
            let (kind, body) = parts(&self.bytes[pair[0]..pair[1]]);
            Record::decode(kind, body).expect("a record")
        };
        self.ends.windows(2).map(record).collect()
    }

    fn ledger(&self) -> &Ledger {
        self.ledgers.last().expect("one more than records")
    }

    /// How many records end at or before `length`.
    fn whole(&self, length: usize) -> usize {
        self.ends.iter().filter(|&&end| end <= length).count() - 1
    }
}

/// What a frame holds: its kind and its body.
fn parts(frame: &[u8]) -> (u8, &[u8]) {
    (frame[4], &frame[9..frame.len() - 9])
}

fn recover(bytes: &[u8]) -> Result<Recovered, Corrupt> {
    Journal::recover(bytes, &key::<Counted>(AUTHORITY))
}

#[test]
fn the_ledger_is_read_back() {
    let story = Story::tell();
    let kinds = [1, 2, 4, 3, 1, 5];
    for (pair, kind) in story.ends.windows(2).zip(kinds) {
        assert_eq!(story.bytes[pair[0] + 4], kind, "every kind is there");
    }
    let recovered = recover(&story.bytes).expect("whole");
    assert_eq!(&recovered.ledger, story.ledger());
    assert_eq!(recovered.ledger.books(), recovered.ledger.recount());
    assert_eq!(recovered.torn_bytes, 0);
}

#[test]
fn a_snapshot_is_the_same_ledger_in_fewer_bytes() {
    let story = Story::tell();
    for ledger in &story.ledgers {
        let (journal, bytes) = Journal::snapshot(ledger);
        let recovered = recover(&bytes).expect("whole");
        assert_eq!(&recovered.ledger, ledger);
        assert_eq!(recovered.ledger.books(), ledger.recount());
        assert_eq!(recovered.journal, journal);
        assert!(bytes.len() <= story.bytes.len());
    }
}

#[test]
fn records_go_on_after_recovery_and_after_a_snapshot() {
    let story = Story::tell();
    for records in 0..story.ends.len() {
        let file = story.bytes[..story.ends[records]].to_vec();
        let recovered = recover(&file).expect("whole");
        let snapshot = Journal::snapshot(&recovered.ledger);
        for (mut journal, mut file) in [(recovered.journal, file), snapshot] {
            let next = Record::Minted(fresh(77));
            file.extend(journal.append(&next));
            let again = recover(&file).expect("whole");
            assert!(again.ledger.copy(&serial(77)).is_some());
            assert_eq!(again.journal, journal);
        }
    }
}

fn fresh(number: u64) -> Token {
    let promise = Promise {
        serial: serial(number),
        denomination: denomination(1),
        nonce: [3; 64],
        first: key::<Counted>(0),
    };
    mint(&signer::<Counted>(AUTHORITY), &promise, &mut Work::new())
}

#[test]
fn a_torn_tail_is_cut_off_at_every_byte() {
    let story = Story::tell();
    for length in story.ends[0]..=story.bytes.len() {
        let recovered = recover(&story.bytes[..length]).expect("only torn");
        let records = story.whole(length);
        assert_eq!(recovered.ledger, story.ledgers[records], "{length}");
        assert_eq!(recovered.valid_bytes, story.ends[records]);
        assert_eq!(recovered.torn_bytes, length - story.ends[records]);
    }
}

#[test]
fn a_tail_of_zeros_is_cut_off_at_every_byte() {
    // The file had its length already, and its content not yet.
    let story = Story::tell();
    for length in story.ends[0]..story.bytes.len() {
        for zeros in [1, 20, story.bytes.len() - length] {
            let mut file = story.bytes[..length].to_vec();
            file.resize(length + zeros, 0);
            let recovered = recover(&file).expect("only torn");
            let records = story.whole(length);
            assert_eq!(recovered.ledger, story.ledgers[records], "{length}");
            assert_eq!(recovered.valid_bytes, story.ends[records]);
        }
    }
}

#[test]
fn every_altered_byte_is_damage_with_its_offset() {
    let story = Story::tell();
    for place in 0..story.bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut file = story.bytes.clone();
            file[place] ^= flip;
            let corrupt = recover(&file).expect_err("altered");
            let begins = match story.ends[0] > place {
                true => 0,
                false => story.ends[story.whole(place)],
            };
            assert_eq!(corrupt.offset_bytes, begins, "{place}: {}", corrupt.reason);
        }
    }
}

#[test]
fn records_that_are_missing_moved_or_doubled_are_damage() {
    let story = Story::tell();
    let frame = |number: usize| &story.bytes[story.ends[number]..story.ends[number + 1]];
    let file = |frames: &[usize]| {
        let frames: Vec<&[u8]> = frames.iter().map(|&number| frame(number)).collect();
        [&story.bytes[..story.ends[0]], &frames.concat()].concat()
    };
    assert!(recover(&file(&[0, 1, 2])).is_ok());
    for frames in [&[1][..], &[0, 2], &[0, 0], &[0, 1, 1, 2], &[4, 0]] {
        assert!(recover(&file(frames)).is_err(), "{frames:?}");
    }
}

#[test]
fn another_file_is_not_taken_for_a_journal() {
    let story = Story::tell();
    let reason = |bytes: &[u8]| {
        let corrupt = recover(bytes).expect_err("no journal");
        assert_eq!(corrupt.offset_bytes, 0);
        corrupt.reason
    };
    assert_eq!(reason(b""), "not a journal of tokens");
    assert_eq!(reason(b"%PDF-1.7 and so on"), "not a journal of tokens");
    let mut newer = story.bytes.clone();
    newer[9] = 2;
    assert_eq!(reason(&newer), "a version that this one does not read");
    let (_, other) = Journal::snapshot(&Ledger::new(key::<Counted>(5)));
    let expected = "the journal of another authority, or a damaged header";
    assert_eq!(reason(&other), expected);
}

/// A file of these records, and where the last of them begins.
fn file_of(records: &[&Record]) -> (Vec<u8>, usize) {
    let (mut journal, mut file) = Journal::snapshot(&Ledger::new(key::<Counted>(AUTHORITY)));
    let mut begins = 0;
    for record in records {
        begins = file.len();
        file.extend(journal.append(record));
    }
    (file, begins)
}

#[test]
fn records_that_contradict_each_other_are_damage() {
    // Chained as they should be, by somebody who writes nonsense.
    let records = Story::tell().records();
    let [minted, reissued, refused, redeemed, other, blacklisted] = &records[..] else {
        panic!("six records");
    };
    let Record::Reissued { received, .. } = reissued.clone() else {
        panic!("the second is a reissue");
    };
    let swapped = Record::Reissued {
        received,
        reissued: fresh(9),
    };
    let reissued_twice = [minted, reissued, reissued];
    let redeemed_twice = [minted, reissued, redeemed, redeemed];
    let blacklisted_twice = [other, blacklisted, blacklisted];
    let stories: [(&[&Record], &str); 8] = [
        (&[minted, minted], "a serial minted twice"),
        (&[reissued], "a serial that was never minted"),
        (&[minted, refused], "refused before anything came back"),
        (&reissued_twice, "honoured in a life that is over"),
        (&[minted, redeemed], "a life that never began"),
        (&redeemed_twice, "came back after it was redeemed"),
        (&[minted, &swapped], "reissued as another token"),
        (&blacklisted_twice, "blacklisted what is not in circulation"),
    ];
    for (records, reason) in stories {
        let (file, offset_bytes) = file_of(records);
        let expected = Corrupt {
            offset_bytes,
            reason,
        };
        assert_eq!(recover(&file), Err(expected));
    }
}

/// The copy of the first serial in `story`, of three lives' history.
fn copy(story: &Story) -> OwnCopy {
    let (_, copy) = story.ledger().copies().next().expect("minted");
    copy.clone()
}

#[test]
fn a_snapshot_has_one_life_or_branch_in_a_record() {
    // Or a cheat could make a body of any size, with branches that are each within bounds.
    let mut world = World::<Counted>::thesis(3);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    reissued(&world.verify(1, &serial));
    for _ in 0..50 {
        world.cheat(0, 2, &serial);
        refusal(&world.verify(2, &serial));
    }
    for _ in 0..9 {
        world.pay(1, 2, &serial);
        world.pay(2, 1, &serial);
        reissued(&world.verify(1, &serial));
    }
    let ledger = world.authority.ledger();
    let copy = ledger.copy(&serial).expect("minted");
    assert!(copy.lives.len() == 11 && copy.lives[0].refused.len() == 50);
    let (_, file) = Journal::snapshot(ledger);
    assert_eq!(&recover(&file).expect("whole").ledger, ledger);
    let mut at = Journal::snapshot(&Ledger::new(*ledger.authority())).1.len();
    while at < file.len() {
        let body = u32::from_be_bytes(*file[at..].first_chunk().expect("a length"));
        assert!(body < 2_000, "{body} B");
        at += body as usize + 18;
    }
}

#[test]
fn a_snapshot_that_no_ledger_gives_is_damage() {
    let story = Story::tell();
    let whole = Record::Snapshot(serial(1), copy(&story)).encode();
    assert!(Record::decode(6, &whole).is_ok());
    for flag in 2..=u8::MAX {
        let mut body = whole.clone();
        body[9] = flag;
        assert!(Record::decode(6, &body).is_err(), "{flag}");
    }
    let mut reopened = copy(&story);
    reopened.lives[0].honoured = None;
    reopened.lives[0].refused.clear();
    assert!(Record::decode(6, &Record::Snapshot(serial(1), reopened.clone()).encode()).is_err());
    // The same, split into two records.
    reopened.lives.truncate(1);
    let open = Record::Snapshot(serial(1), reopened);
    let (file, offset_bytes) = file_of(&[&open, &open]);
    let reason = "a serial kept twice";
    assert_eq!(
        recover(&file),
        Err(Corrupt {
            offset_bytes,
            reason
        })
    );
    let over = Record::Snapshot(serial(1), copy(&story));
    let withdrawn = OwnCopy {
        is_blacklisted: true,
        ..copy(&story)
    };
    let (file, offset_bytes) = file_of(&[&over, &Record::Snapshot(serial(1), withdrawn)]);
    let reason = "lives of another copy";
    assert_eq!(
        recover(&file),
        Err(Corrupt {
            offset_bytes,
            reason
        })
    );
}

proptest! {
    #[test]
    fn no_body_panics(
        number: prop::sample::Index,
        other_kind in prop::option::weighted(0.2, 0..8u8),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let story = Story::tell();
        let mut records = story.records();
        records.push(Record::Snapshot(serial(1), copy(&story)));
        let record = &records[number.index(records.len())];
        let (kind, mut body) = (other_kind.unwrap_or(record.kind()), record.encode());
        for (at, byte) in &flips {
            let at = at.index(body.len());
            body[at] = *byte;
        }
        body.truncate(cut.map_or(body.len(), |cut| cut.index(body.len())));
        if flips.is_empty() && cut.is_none() && kind == record.kind() {
            prop_assert_eq!(Record::decode(kind, &body), Ok(record.clone()));
        }
        if let Ok(record) = Record::decode(kind, &body) {
            prop_assert_eq!(record.kind(), kind);
            prop_assert_eq!(record.encode(), body);
        }
    }
}
