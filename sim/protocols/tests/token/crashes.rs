//! The authority crashes at every step of its disk, with every fate of what was not synced.
//!
//! One story is told again and again: once without a crash, then with one at each step, then
//! with a second one at each step of the recovery. Clients repeat what got no answer. In the end
//! each client has to hold what it held without a crash, and the authority has to pay all of it.

use crate::tokens::fake_disk::{FakeDisk, Fate};
use crate::tokens::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::token::disk::{append, recover, replace, DiskStep, JOURNAL};
use pocketsim_protocols::token::*;

struct Crashed;

/// When the disk fails: after that many steps, and again that many steps after recovery began.
#[derive(Clone, Copy, Debug)]
struct Plan {
    first: usize,
    second: Option<usize>,
    fate: Fate,
    keeps_names: bool,
    /// Whether at first only the process dies, and the disk with the second.
    dies_first: bool,
}

/// An authority with its disk.
struct Bank {
    world: World<Counted>,
    journal: Journal,
    disk: FakeDisk,
    plan: Plan,
    steps_left: Option<usize>,
    steps: usize,
    crashes: usize,
}

impl Bank {
    fn open(plan: Plan) -> Self {
        let world = World::thesis(4);
        let (journal, _) = Journal::snapshot(world.authority.ledger());
        let mut bank = Self {
            world,
            journal,
            disk: FakeDisk::default(),
            plan,
            steps_left: Some(plan.first),
            steps: 0,
            crashes: 0,
        };
        bank.start_until_up();
        bank
    }

    /// One step of the disk, or the moment before an answer leaves.
    fn step(&mut self, step: Option<&DiskStep>) -> Result<(), Crashed> {
        self.steps += 1;
        match self.steps_left {
            Some(0) => {
                self.crashes += 1;
                self.steps_left = self.plan.second.filter(|_| self.crashes == 1);
                self.fail(step);
                Err(Crashed)
            }
            left => {
                self.steps_left = left.map(|left| left - 1);
                step.into_iter().for_each(|step| self.disk.perform(step));
                Ok(())
            }
        }
    }

    fn fail(&mut self, step: Option<&DiskStep>) {
        if self.plan.dies_first && self.crashes == 1 {
            self.disk.die(step);
        } else {
            let Plan {
                fate, keeps_names, ..
            } = self.plan;
            self.disk.crash(step, fate, keeps_names);
        }
    }

    fn perform(&mut self, steps: &[DiskStep]) -> Result<(), Crashed> {
        steps.iter().try_for_each(|step| self.step(Some(step)))
    }

    fn start_until_up(&mut self) {
        while self.start().is_err() {}
    }

    /// All that is not on the disk is forgotten.
    fn start(&mut self) -> Result<(), Crashed> {
        let key = key::<Counted>(AUTHORITY);
        let (ledger, steps) = match self.disk.read(JOURNAL) {
            None => {
                let ledger = Ledger::new(key);
                let (journal, bytes) = Journal::snapshot(&ledger);
                self.journal = journal;
                (ledger, replace(bytes).to_vec())
            }
            Some(bytes) => {
                let recovered = Journal::recover(bytes, &key).expect("a crash is no damage");
                self.journal = recovered.journal;
                (recovered.ledger, recover(recovered.valid_bytes).to_vec())
            }
        };
        self.world.authority = Authority::with_ledger(signer(AUTHORITY), Rules::Thesis, ledger);
        self.perform(&steps)
    }

    /// Records become durable together; then their answers may leave.
    fn commit(&mut self, records: Vec<Record>) -> Result<(), Crashed> {
        // Without records nothing is new, so what an answer rests on is durable already.
        if !records.is_empty() {
            let frames = records.iter().map(|record| self.journal.append(record));
            let bytes = frames.collect::<Vec<_>>().concat();
            self.perform(&append(bytes))?;
        }
        self.step(None)
    }

    fn compact(&mut self) -> Result<(), Crashed> {
        let (journal, bytes) = Journal::snapshot(self.world.authority.ledger());
        self.journal = journal;
        self.perform(&replace(bytes))
    }

    fn blacklist(&mut self, serial: &Serial) -> Result<(), Crashed> {
        let record = self.world.authority.blacklist(serial);
        self.commit(record.into_iter().collect())
    }

    fn mint(&mut self, order: &Order) -> Result<Token, Crashed> {
        let random = self.world.chance.bytes();
        let minted = self
            .world
            .authority
            .mint(order, random, &mut self.world.work);
        let (record, token) = minted.expect("one order for a serial");
        self.commit(record.into_iter().collect())?;
        Ok(token)
    }

    /// All submissions are decided before any is durable.
    fn decide(&mut self, submissions: &[Submission]) -> Result<Vec<Answer>, Crashed> {
        let decisions: Vec<Decision> = submissions
            .iter()
            .map(|submission| self.world.decide(submission))
            .collect();
        let records = decisions.iter().filter_map(|one| one.record.clone());
        self.commit(records.collect())?;
        Ok(decisions.into_iter().map(|one| one.answer).collect())
    }

    /// A client asks until it is answered.
    fn insist<T>(&mut self, mut ask: impl FnMut(&mut Self) -> Result<T, Crashed>) -> T {
        loop {
            match ask(self) {
                Ok(answer) => return answer,
                Err(Crashed) => self.start_until_up(),
            }
        }
    }

    fn order(&mut self, to: usize, cents: u64) -> Serial {
        let order = self.world.order(to, cents);
        let token = self.insist(|bank| bank.mint(&order));
        assert!(self.world.receive(to, token).is_ok());
        order.serial
    }

    /// Everybody named submits at once, and asks again until answered.
    fn submit(&mut self, who: &[(usize, Serial, Intent)]) {
        for (client, serial, intent) in who {
            self.world.submit(*client, serial, *intent);
        }
        let clients = &self.world.clients;
        let all: Vec<Submission> = clients.iter().flat_map(Client::resubmissions).collect();
        let answers = self.insist(|bank| bank.decide(&all));
        for (submission, answer) in all.iter().zip(answers) {
            let mut clients = self.world.clients.iter_mut();
            let client = clients.find(|client| *client.public_key() == submission.submitter);
            let settled = client.expect("a client").settle(answer, &mut Work::new());
            assert!(settled.is_some());
        }
    }

    /// What everybody holds, and what the books say.
    fn outcome(&self) -> (Vec<u64>, Books) {
        let clients = self.world.clients.iter();
        let held = clients.map(|client| client.wallet().held_cents()).collect();
        (held, self.world.books())
    }
}

/// Orders, payments, verifications one by one and together, a double spend, compactions before
/// and after it, a serial withdrawn.
fn story(plan: Plan) -> Bank {
    let mut bank = Bank::open(plan);
    let one = bank.order(0, 100);
    let two = bank.order(1, 200);
    bank.world.pay(0, 2, &one);
    bank.world.pay(1, 3, &two);
    bank.submit(&[(2, one, Intent::Reissue), (3, two, Intent::Reissue)]);
    bank.insist(Bank::compact);
    let three = bank.order(0, 500);
    bank.world.cheat(0, 1, &three);
    bank.world.pay(0, 2, &three);
    bank.submit(&[(1, three, Intent::Reissue)]);
    bank.submit(&[(2, three, Intent::Reissue), (3, two, Intent::Redeem)]);
    let four = bank.order(0, 5);
    bank.insist(|bank| bank.blacklist(&four));
    bank.insist(Bank::compact);
    bank.world.pay(2, 3, &one);
    bank.submit(&[(3, one, Intent::Reissue)]);
    bank
}

const NEVER: Plan = Plan {
    first: usize::MAX,
    second: None,
    fate: Fate::Lost,
    keeps_names: false,
    dies_first: false,
};

/// The story ends as it does without a crash, and all that is held can be cashed in.
fn check(plan: Plan, expected: &(Vec<u64>, Books)) {
    let mut bank = story(plan);
    assert!(bank.crashes > 0, "{plan:?}");
    assert_eq!(&bank.outcome(), expected, "{plan:?}");
    assert_eq!(bank.world.authority.ledger().offences().len(), 1);
    let clients = bank.world.clients.iter().enumerate();
    let held: Vec<(usize, Serial, Intent)> = clients
        .flat_map(|(number, client)| {
            let held = client.wallet().held();
            held.map(move |token| (number, token.serial, Intent::Redeem))
        })
        .collect();
    bank.submit(&held);
    let books = bank.world.books();
    assert_eq!(books.circulating_cents(), 0, "{plan:?}");
    assert_eq!(books.blacklisted_cents, 5, "{plan:?}");
    assert_eq!(books.redeemed_cents + 5, books.minted_cents);
}

fn fates() -> Vec<Fate> {
    let bytes = [0, 1, 8, 9, 10, 100, 295, 296, 700, 1_000];
    let torn = bytes.map(Fate::Torn);
    let zeroed = bytes.map(Fate::Zeroed);
    [Fate::Lost, Fate::Kept]
        .into_iter()
        .chain(torn)
        .chain(zeroed)
        .collect()
}

#[test]
fn without_a_crash_the_story_is_this() {
    let bank = story(NEVER);
    let (held, books) = bank.outcome();
    assert_eq!(held, [5, 500, 0, 100]);
    assert_eq!((books.minted_cents, books.redeemed_cents), (805, 200));
    assert_eq!(books.refused_cents, 500);
    assert_eq!(bank.crashes, 0);
}

#[test]
fn a_crash_at_any_step_loses_and_doubles_nothing() {
    let whole = story(NEVER);
    let expected = whole.outcome();
    for first in 0..whole.steps {
        for fate in fates() {
            for keeps_names in [false, true] {
                let plan = Plan {
                    first,
                    fate,
                    keeps_names,
                    ..NEVER
                };
                check(plan, &expected);
            }
        }
    }
}

#[test]
fn a_crash_at_any_byte_of_two_records_loses_and_doubles_nothing() {
    let whole = story(NEVER);
    let expected = whole.outcome();
    for first in 0..whole.steps {
        for bytes in (0..1_800).step_by(7) {
            for fate in [Fate::Torn(bytes), Fate::Zeroed(bytes)] {
                let plan = Plan {
                    first,
                    fate,
                    ..NEVER
                };
                check(plan, &expected);
            }
        }
    }
}

#[test]
fn a_crash_of_the_recovery_loses_and_doubles_nothing() {
    let whole = story(NEVER);
    let expected = whole.outcome();
    for first in 0..whole.steps {
        for second in 0..6 {
            for fate in fates() {
                for keeps_names in [false, true] {
                    let plan = Plan {
                        first,
                        second: Some(second),
                        fate,
                        keeps_names,
                        ..NEVER
                    };
                    check(plan, &expected);
                }
            }
        }
    }
}

#[test]
fn what_a_dead_process_left_unsynced_is_synced_before_it_is_built_on() {
    let whole = story(NEVER);
    let expected = whole.outcome();
    for first in 0..whole.steps {
        for second in 0..12 {
            for fate in fates() {
                let plan = Plan {
                    first,
                    second: Some(second),
                    fate,
                    keeps_names: false,
                    dies_first: true,
                };
                check(plan, &expected);
            }
        }
    }
}

#[test]
fn an_answer_before_its_record_would_be_noticed() {
    // What the other tests rest on: told without being durable, a token is lost by a crash.
    let mut bank = Bank::open(NEVER);
    let order = bank.world.order(0, 100);
    let random = bank.world.chance.bytes();
    let minted = bank
        .world
        .authority
        .mint(&order, random, &mut bank.world.work);
    let (record, token) = minted.expect("fresh");
    let bytes = bank.journal.append(&record.expect("fresh"));
    bank.disk.perform(&append(bytes)[0]);
    assert!(bank.world.receive(0, token).is_ok());
    bank.disk.crash(None, Fate::Lost, true);
    bank.start_until_up();
    assert_eq!(bank.world.books().minted_cents, 0);
}
