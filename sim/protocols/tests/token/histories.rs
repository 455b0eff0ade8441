//! Random histories of a town with cheats: money is conserved, every cheat whose branches came
//! back is named, and nobody else is.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::*;
use pocketsim_protocols::crypto::{Counted, Crypto, Real};
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::*;
use proptest::prelude::*;

/// Of a thousand actions; and of a thousand payments or answers, how many are lost at first.
#[derive(Clone, Copy, Debug)]
struct Rates {
    mint: usize,
    cheat: usize,
    submit: usize,
    redeem: usize,
    lose: usize,
}

const TOWN: Rates = Rates {
    mint: 20,
    cheat: 20,
    submit: 150,
    redeem: 10,
    lose: 100,
};

/// Every pair that came back after the same proof, each by what tells it from others.
type Continuations = BTreeMap<(Serial, u64), (PublicKey, BTreeSet<u64>)>;

struct Town<C> {
    world: World<C>,
    rates: Rates,
    /// Clients below this number cheat.
    cheats: usize,
    came_back: Continuations,
    transfers: usize,
    /// Payments that have not come, and to whom they should.
    in_flight: Vec<(usize, Token)>,
    /// Answers that were taken, of each client: they come again.
    old: BTreeMap<usize, Vec<Answer>>,
    /// Cents that clients lost, as their receipts say.
    lost_cents: BTreeMap<PublicKey, u64>,
    /// Of those, what the ledger had no room for as evidence.
    unkept_cents: BTreeMap<PublicKey, u64>,
}

impl<C: Crypto> Town<C> {
    fn new(clients: u32, cheats: usize, rates: Rates, seed: u64) -> Self {
        let handshake = Handshake::Challenge;
        let mut world = World::new(clients, Rules::Thesis, handshake, seed);
        for client in 0..clients as usize {
            world.mint(client, 1_000);
        }
        Self {
            world,
            rates,
            cheats,
            came_back: BTreeMap::new(),
            transfers: 0,
            in_flight: Vec::new(),
            old: BTreeMap::new(),
            lost_cents: BTreeMap::new(),
            unkept_cents: BTreeMap::new(),
        }
    }

    fn act(&mut self) {
        let rates = self.rates;
        let client = self.world.chance.below(self.world.clients.len());
        let roll = self.world.chance.below(1_000);
        let (mint, cheat) = (rates.mint, rates.mint + rates.cheat);
        let (submit, redeem) = (cheat + rates.submit, cheat + rates.submit + rates.redeem);
        self.world.work.clear();
        if roll < mint {
            let cents = Denomination::all().nth(self.world.chance.below(15));
            self.world.mint(client, cents.expect("15 of them").cents());
        } else if roll < cheat {
            self.pay(client % self.cheats.max(1), self.cheats > 0);
        } else if roll < submit {
            self.submit(client, Intent::Reissue);
        } else if roll < redeem {
            self.submit(client, Intent::Redeem);
        } else {
            self.pay(client, false);
        }
    }

    fn any_held(&mut self, client: usize) -> Option<Serial> {
        let held = self.world.clients[client].wallet().held();
        let count = held.count();
        let place = self.world.chance.below(count.max(1));
        let mut held = self.world.clients[client].wallet().held();
        held.nth(place).map(|token| token.serial)
    }

    /// Whether an honest wallet keeps back what it holds of `serial`.
    fn is_doubted(&self, client: usize, serial: &Serial) -> bool {
        let wallet = self.world.clients[client].wallet();
        let pending = wallet.pending().map(|(token, _)| token);
        let mut rivals = pending.chain(wallet.disputed());
        let is_unverified = wallet.unverified().any(|token| token.serial == *serial);
        is_unverified && rivals.any(|rival| rival.serial == *serial)
    }

    fn pay(&mut self, from: usize, keep: bool) {
        let to = self.world.chance.below(self.world.clients.len());
        let Some(serial) = self.any_held(from).filter(|_| to != from) else {
            return;
        };
        if !keep && self.is_doubted(from, &serial) {
            return;
        }
        let token = self.world.sign(from, to, &serial, keep);
        self.in_flight.push((to, token));
        self.transfers += 1;
        let is_lost = self.world.chance.below(1_000) < self.rates.lose;
        if !is_lost || self.in_flight.len() == IN_FLIGHT_MAX {
            self.deliver();
        }
    }

    /// What was lost is sent again, and everything comes twice.
    fn deliver(&mut self) {
        for (to, token) in std::mem::take(&mut self.in_flight) {
            let mut outcome = self.world.receive(to, token.clone());
            while outcome == Err(Refusal::TooManyDisputed) {
                self.submit(to, Intent::Reissue);
                outcome = self.world.receive(to, token.clone());
            }
            let expected = [Ok(()), Err(Refusal::AlreadyHeld)];
            assert!(expected.contains(&outcome.map(|_| ())));
            let again = self.world.receive(to, token);
            assert_eq!(again, Err(Refusal::UsedChallenge));
        }
    }

    fn submit(&mut self, client: usize, intent: Intent) {
        let any_held = self.any_held(client);
        let wallet = self.world.clients[client].wallet();
        let serial = match intent {
            Intent::Reissue => wallet.to_submit().first().copied(),
            Intent::Redeem => any_held,
        };
        // One token of a serial at a time: another may be disputed, and pending.
        let is_free = |serial: &Serial| wallet.pending().all(|(token, _)| token.serial != *serial);
        if let Some(serial) = serial.filter(is_free) {
            self.world.submit(client, &serial, intent);
        }
        self.ask(client);
    }

    /// All that is pending; some answers are lost, and asked for again some other time.
    fn ask(&mut self, client: usize) {
        for submission in self.world.clients[client].resubmissions() {
            self.hear_old(client);
            let dropped = self.dropped_branches();
            let decision = self.world.decide(&submission);
            let is_kept = self.dropped_branches() == dropped;
            self.note(&submission);
            if self.world.chance.below(1_000) < self.rates.lose {
                continue;
            }
            let answer = decision.answer;
            let settled = self.world.clients[client].settle(answer.clone(), &mut Work::new());
            let receipt = settled.expect("it was pending");
            self.old.entry(client).or_default().push(answer);
            self.hear_old(client);
            if receipt.outcome.is_err() {
                assert_eq!(receipt.outcome, Err(Refusal::DoubleSpend));
                let (who, cents) = (submission.submitter, token_cents(&submission.token));
                *self.lost_cents.entry(who).or_default() += cents;
                *self.unkept_cents.entry(who).or_default() += if is_kept { 0 } else { cents };
            }
        }
    }

    fn dropped_branches(&self) -> u64 {
        self.world.authority.ledger().books().dropped_branches
    }

    /// What is late, or comes twice, settles nothing.
    fn hear_old(&mut self, client: usize) {
        let old = self.old.entry(client).or_default();
        old.drain(..old.len().saturating_sub(OLD_MAX));
        for answer in old.clone() {
            let before = self.world.clients[client].wallet().pending_cents();
            self.world.clients[client].settle(answer, &mut Work::new());
            let after = self.world.clients[client].wallet().pending_cents();
            assert_eq!(before, after);
        }
    }

    /// The model: which pairs followed each proof in what came back.
    fn note(&mut self, submission: &Submission) {
        let authority = *self.world.authority.public_key();
        let fingerprint = |proof: &[u8; 64]| u64::from_be_bytes(*proof.last_chunk().expect("64"));
        for pair in submission.token.recipients().windows(2) {
            let place = (submission.token.serial, fingerprint(&pair[0].proof));
            let next = match pair[1].key == authority {
                true => 0,
                false => fingerprint(&pair[1].proof),
            };
            let (_, all) = self
                .came_back
                .entry(place)
                .or_insert((pair[0].key, BTreeSet::new()));
            all.insert(next);
        }
    }

    /// Everybody submits everything, and is answered.
    fn close(&mut self) {
        self.rates.lose = 0;
        self.deliver();
        (0..self.world.clients.len()).for_each(|client| self.ask(client));
        for client in 0..self.world.clients.len() {
            while !self.world.clients[client].wallet().to_submit().is_empty() {
                self.submit(client, Intent::Reissue);
            }
            self.ask(client);
        }
    }

    fn check(&mut self) {
        self.close();
        let ledger = self.world.authority.ledger();
        let named: BTreeSet<(Serial, PublicKey)> = ledger
            .offences()
            .iter()
            .map(|offence| (offence.serial, offence.culprit))
            .collect();
        let split = self
            .came_back
            .iter()
            .filter(|(_, (_, next))| next.len() > 1);
        let expected: BTreeSet<(Serial, PublicKey)> = split
            .map(|((serial, _), (holder, _))| (*serial, *holder))
            .collect();
        assert_eq!(named, expected, "who signed twice, and nobody else");
        let cheats: Vec<PublicKey> = (0..self.cheats)
            .map(|cheat| self.world.key(cheat))
            .collect();
        assert!(named.iter().all(|(_, culprit)| cheats.contains(culprit)));
        self.check_money(&cheats);
    }

    fn check_money(&self, cheats: &[PublicKey]) {
        let ledger = self.world.authority.ledger();
        let books = self.world.books();
        let mut owned = 0;
        for client in &self.world.clients {
            for token in client.wallet().held() {
                assert_eq!(token.recipients().len(), 1, "all is verified");
                let life = ledger
                    .copy(&token.serial)
                    .and_then(|copy| copy.lives.last());
                let life = life.expect("minted");
                let is_owed = life.honoured.is_none() && life.nonce == token.nonce;
                let is_honest = !cheats.contains(client.public_key());
                assert!(is_owed || !is_honest, "an honest client can cash it in");
                owned += if is_owed { token_cents(token) } else { 0 };
            }
        }
        assert_eq!(
            owned,
            books.circulating_cents(),
            "nothing is lost or doubled"
        );
        // A cheat may lose to another cheat; of honest ones the ledger and the receipts agree, but
        // for what the ledger had no room for.
        let losses = ledger.losses_cents();
        for who in self.world.clients.iter().map(|client| client.public_key()) {
            let of = |cents: &BTreeMap<PublicKey, u64>| cents.get(who).copied().unwrap_or(0);
            let is_told = of(&losses) + of(&self.unkept_cents) == of(&self.lost_cents);
            assert!(
                is_told || cheats.contains(who),
                "the ledger knows what was refused"
            );
        }
        let lost: u64 = self.lost_cents.values().sum();
        let unkept: u64 = self.unkept_cents.values().sum();
        assert!(lost - unkept <= books.refused_cents);
    }
}

fn token_cents(token: &Token) -> u64 {
    let denomination = Denomination::from_byte(token.value);
    denomination.expect("it was taken").cents()
}

fn run<C: Crypto>(
    clients: u32,
    cheats: usize,
    rates: Rates,
    transfers: usize,
    seed: u64,
) -> Town<C> {
    let mut town = Town::<C>::new(clients, cheats, rates, seed);
    while town.transfers < transfers {
        town.act();
    }
    town.check();
    town
}

#[test]
fn a_million_transfers_conserve_money_and_name_the_cheats() {
    let town = run::<Counted>(1_000, 100, TOWN, 1_000_000, 2);
    // What the checks above are worth.
    let ledger = town.world.authority.ledger();
    assert!(ledger.offences().len() > 10_000);
    assert!(ledger.losses_cents().len() > 500);
    let lives = ledger.copies().flat_map(|(_, copy)| &copy.lives);
    let branches: Vec<&Branch> = lives.flat_map(Life::branches).collect();
    assert!(branches.len() > 100_000);
    assert!(branches.iter().any(|branch| branch.len() > 20));
}

#[test]
fn what_the_ledger_has_no_room_for_is_counted_and_accuses_nobody_wrongly() {
    let rates = Rates {
        mint: 30,
        cheat: 278,
        submit: 12,
        redeem: 20,
        lose: 398,
    };
    let town = run::<Counted>(5, 3, rates, 600, 816_747_941_050_114_415);
    assert!(town.dropped_branches() > 0);
    assert!(town.unkept_cents.values().any(|&cents| cents > 0));
}

#[test]
fn without_cheats_nobody_loses() {
    let honest = Rates { cheat: 0, ..TOWN };
    let mut town = Town::<Counted>::new(50, 0, honest, 3);
    while town.transfers < 20_000 {
        town.act();
    }
    town.check();
    assert!(town.lost_cents.is_empty());
    assert_eq!(town.world.books().refused_cents, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn random_towns_conserve_money_and_name_the_cheats(
        clients in 2..8u32,
        cheats in 0..4usize,
        cheat in 0..300usize,
        submit in 1..400usize,
        lose in 0..900usize,
        seed: u64,
    ) {
        let rates = Rates { mint: 30, cheat, submit, redeem: 20, lose };
        let cheats = cheats.min(clients as usize);
        run::<Counted>(clients, cheats, rates, 600, seed);
        run::<Real>(clients, cheats, rates, 25, seed);
    }
}

/// So that no receiver forgets what it asked for.
const IN_FLIGHT_MAX: usize = 40;
/// As many answers as may be on their way.
const OLD_MAX: usize = 3;
