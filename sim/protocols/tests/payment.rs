//! Payments between machines: with loss, doubled and late messages money is conserved, who is
//! honest is never named, and each side says the same of a payment.

mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::{Counted, Crypto, Real};
use pocketsim_protocols::payment::*;
use pocketsim_protocols::token::{Authority, Client, Handshake, Rules};
use proptest::prelude::*;
use tokens::{key, signer, Chance};

struct Source(Chance);

impl Random for Source {
    fn word(&mut self) -> u64 {
        self.0.word()
    }
}

#[derive(Clone, Copy)]
struct Setting {
    handshake: Handshake,
    acceptance: Acceptance,
    rules: Rules,
    cheats: bool,
    lose_per_mille: usize,
    double_per_mille: usize,
    seed: u64,
}

const CALM: Setting = Setting {
    handshake: Handshake::Challenge,
    acceptance: Acceptance::Offline,
    rules: Rules::Thesis,
    cheats: true,
    lose_per_mille: 0,
    double_per_mille: 0,
    seed: 1,
};

/// Nodes 0.. hold wallets; the last is the authority. Messages take between 10 and 20 ms.
struct Town<C: Crypto> {
    nodes: Vec<Participant<C, Source>>,
    directory: std::sync::Arc<Directory>,
    setting: Setting,
    chance: Chance,
    /// By time in nanoseconds and number.
    mail: BTreeMap<(u64, u64), (NodeId, NodeId, Message)>,
    sent: u64,
    now: Seconds,
    /// Whether the authority can be reached.
    online: bool,
    events: Vec<(Seconds, NodeId, Event)>,
}

impl<C: Crypto> Town<C> {
    fn new(holders: u32, setting: Setting) -> Self {
        let keys = (0..=holders).map(key::<C>).collect();
        let directory = Directory::new(keys, NodeId(holders));
        let source = |node: u32| Source(Chance(setting.seed << 32 | u64::from(node)));
        let mut nodes: Vec<Participant<C, Source>> = (0..holders)
            .map(|node| {
                let authority = key::<C>(holders);
                let client = Client::new(signer(node), vec![authority], setting.handshake);
                let config = config(node, setting.acceptance);
                let holder = Holder::new(
                    NodeId(node),
                    client,
                    source(node),
                    directory.clone(),
                    config,
                );
                Participant::Holder(Box::new(holder))
            })
            .collect();
        let authority = Authority::new(signer(holders), setting.rules);
        let teller = Teller::new(authority, source(holders), directory.clone());
        nodes.push(Participant::Teller(Box::new(teller)));
        Self {
            nodes,
            directory,
            setting,
            chance: Chance(setting.seed),
            mail: BTreeMap::new(),
            sent: 0,
            now: 0.0,
            online: true,
            events: Vec::new(),
        }
    }

    fn pay(&mut self, from: u32, to: u32, amount_cents: u32, conduct: Conduct) {
        let peer = NodeId(to);
        let request = AppRequest::Pay {
            peer,
            amount_cents,
            conduct,
        };
        let mut out = Vec::new();
        self.nodes[from as usize].command(request, self.now, &mut out);
        self.drain(NodeId(from), out);
    }

    fn drain(&mut self, node: NodeId, out: OutputsOf<Participant<C, Source>>) {
        for output in out {
            match output {
                Output::Send { to, message } => self.post(node, to, message),
                Output::Observe(event) => self.events.push((self.now, node, event)),
                _ => {}
            }
        }
    }

    fn post(&mut self, from: NodeId, to: NodeId, message: Message) {
        let authority = self.directory.authority();
        let is_cut = !self.online && [from, to].contains(&authority);
        let mut copies = 1;
        if is_cut || self.chance.below(1_000) < self.setting.lose_per_mille {
            copies = 0;
        } else if self.chance.below(1_000) < self.setting.double_per_mille {
            copies = 2;
        }
        for _ in 0..copies {
            let delay_ns = 10_000_000 + self.chance.below(10_000_000) as u64;
            let date = (self.now * 1e9) as u64 + delay_ns;
            self.sent += 1;
            let letter = (from, to, message.clone());
            self.mail.insert((date, self.sent), letter);
        }
    }

    /// Lets everything happen until `end_s`.
    fn run_until(&mut self, end_s: Seconds) {
        loop {
            let letter_s = self.mail.keys().next().map(|(date, _)| *date as f64 * 1e-9);
            let alarms = self.nodes.iter().zip(0..);
            let alarms = alarms.filter_map(|(node, at)| Some((node.next_timeout()?.0, at)));
            let alarm = alarms.min_by(|a, b| a.0.total_cmp(&b.0));
            let (alarm_s, at) = alarm.expect("holders call again and again");
            let next_s = letter_s.unwrap_or(f64::INFINITY).min(alarm_s);
            if next_s > end_s {
                self.now = end_s;
                return;
            }
            self.now = self.now.max(next_s);
            let mut out = Vec::new();
            if letter_s.is_some_and(|date| date <= alarm_s) {
                let (_, (from, to, message)) = self.mail.pop_first().expect("there is one");
                self.nodes[to.0 as usize].receive(from, message, self.now, &mut out);
                self.drain(to, out);
            } else {
                self.nodes[at as usize].handle_timeout(self.now, &mut out);
                self.drain(NodeId(at), out);
            }
        }
    }

    fn run_for(&mut self, length_s: Seconds) {
        self.run_until(self.now + length_s);
    }

    fn audit(&self) -> Audit {
        let found = audit(&self.nodes, &self.directory, self.setting.handshake);
        found.unwrap_or_else(|violation| panic!("{violation:?}"))
    }

    fn cents(&self, node: u32) -> u64 {
        let holder = self.nodes[node as usize].holder().expect("no authority");
        holder.wallet().held_cents()
    }

    fn count(&self, kind: EventKind) -> usize {
        self.events
            .iter()
            .filter(|(_, _, event)| event.kind == kind)
            .count()
    }

    fn messages(&self, kind: EventKind) -> BTreeSet<MessageId> {
        let all = self.events.iter().map(|(_, _, event)| event);
        all.filter(|event| event.kind == kind)
            .map(|event| event.message)
            .collect()
    }
}

fn config(node: u32, acceptance: Acceptance) -> HolderConfig {
    HolderConfig {
        acceptance,
        full_cents: 8_300,
        low_cents: 2_000,
        redeems: node == 0,
        replays: true,
        batch_tokens: 20,
        settle_interval_s: 900.0,
        first_call_s: f64::from(node),
        payment_timeout_s: 30.0,
    }
}

#[test]
fn a_payment_with_change_arrives_whole() {
    let mut town = Town::<Real>::new(3, CALM);
    town.run_until(10.0);
    assert_eq!([town.cents(0), town.cents(1)], [8_300, 8_300]);
    town.pay(1, 2, 2_470, Conduct::Honest);
    town.run_for(1.0);
    assert_eq!(
        [town.cents(1), town.cents(2)],
        [8_300 - 2_470, 8_300 + 2_470]
    );
    // What is left is notes, too large for this.
    town.pay(1, 2, 333, Conduct::Honest);
    town.run_for(1.0);
    town.pay(1, 2, 777, Conduct::Honest);
    town.run_for(1.0);
    assert_eq!(town.cents(1) + town.cents(2), 2 * 8_300);
    assert_eq!(town.messages(EventKind::Store).len(), 3);
    assert_eq!(
        town.messages(EventKind::Store),
        town.messages(EventKind::StorePeer)
    );
    assert_eq!(town.audit().circulating_cents, 3 * 8_300);
}

#[test]
fn without_a_network_payments_go_on_and_are_verified_afterwards() {
    let mut town = Town::<Counted>::new(4, CALM);
    town.run_until(10.0);
    town.online = false;
    for hop in [(1, 2), (2, 3), (3, 1), (1, 3)] {
        town.pay(hop.0, hop.1, 1_000, Conduct::Honest);
        town.run_for(1_000.0);
    }
    assert_eq!(town.messages(EventKind::Store).len(), 4);
    assert_eq!(
        town.count(EventKind::Submit),
        0,
        "nothing is signed away in vain"
    );
    town.online = true;
    town.run_for(2_000.0);
    let unverified =
        |node: &Participant<_, _>| node.holder().map(|of| of.wallet().unverified_cents());
    assert!(town
        .nodes
        .iter()
        .filter_map(unverified)
        .all(|cents| cents == 0));
    assert!(town.count(EventKind::Settle) > 0);
    town.audit();
}

#[test]
fn online_nothing_is_paid_without_a_network() {
    let acceptance = Acceptance::Online;
    let mut town = Town::<Counted>::new(3, Setting { acceptance, ..CALM });
    town.run_until(10.0);
    // Nobody has called of late, so the payee has to.
    town.run_for(60.0);
    town.pay(1, 2, 1_000, Conduct::Honest);
    town.run_for(0.2);
    assert_eq!(town.messages(EventKind::Store).len(), 1, "at once");
    let holder = town.nodes[2].holder().expect("no authority");
    assert_eq!(
        holder.wallet().unverified_cents(),
        0,
        "verified before the receipt"
    );
    town.online = false;
    town.run_for(60.0);
    town.pay(1, 2, 1_000, Conduct::Honest);
    town.run_for(60.0);
    assert_eq!(town.messages(EventKind::Store).len(), 1);
    let lost = town
        .events
        .iter()
        .filter(|(_, _, event)| event.kind == EventKind::Lose);
    let reasons: Vec<_> = lost.map(|(_, _, event)| event.reason).collect();
    assert_eq!(reasons, [Some(Reason::SocketTimeout)]);
    town.audit();
}

#[test]
fn online_a_double_spender_is_refused_before_the_receipt() {
    let acceptance = Acceptance::Online;
    let mut town = Town::<Counted>::new(4, Setting { acceptance, ..CALM });
    town.run_until(10.0);
    town.pay(1, 2, 5_000, Conduct::DoubleSpend);
    town.run_for(5.0);
    town.pay(1, 3, 5_000, Conduct::DoubleSpend);
    town.run_for(5.0);
    assert_eq!(town.messages(EventKind::Store).len(), 1);
    assert!(town.audit().accused > 0);
    assert_eq!(town.cents(3), 8_300);
}

#[test]
fn offline_a_double_spender_is_named_afterwards_and_the_second_payee_loses() {
    let mut town = Town::<Counted>::new(4, CALM);
    town.run_until(10.0);
    town.online = false;
    town.pay(1, 2, 5_000, Conduct::DoubleSpend);
    town.run_for(5.0);
    town.pay(1, 3, 5_000, Conduct::DoubleSpend);
    town.run_for(5.0);
    assert_eq!(town.messages(EventKind::Store).len(), 2, "nobody can know");
    assert_eq!(town.cents(2) + town.cents(3), 2 * (8_300 + 5_000));
    let before = town.audit();
    assert_eq!((before.accused, before.undetected_cents > 0), (0, true));
    town.online = true;
    town.run_for(2_000.0);
    let after = town.audit();
    assert!(after.accused > 0 && after.wrongly_accused == 0);
    assert_eq!(after.undetected_serials, 0);
    let accused = town
        .events
        .iter()
        .filter(|(_, _, event)| event.kind == EventKind::Accuse);
    let culprits: BTreeSet<NodeId> = accused.map(|(_, _, event)| event.peer).collect();
    assert_eq!(culprits, BTreeSet::from([NodeId(1)]));
    assert_eq!(town.cents(2) + town.cents(3), 2 * 8_300 + 5_000);
}

#[test]
fn who_pays_with_a_token_that_was_spent_twice_gets_the_others_back() {
    let mut town = Town::<Counted>::new(4, CALM);
    town.run_until(10.0);
    town.online = false;
    for payee in [2, 3] {
        town.pay(1, payee, 1_000, Conduct::DoubleSpend);
        town.run_for(5.0);
    }
    let both_cents = town.cents(2) + town.cents(3);
    // All of it, so what node 3 has too is among it.
    let all_cents = town.cents(2);
    town.pay(2, 3, all_cents as u32, Conduct::Honest);
    town.run_for(5.0);
    assert_eq!(town.count(EventKind::Refuse), 1);
    assert_eq!(
        town.cents(2),
        all_cents - 1_000,
        "but for what he was cheated of"
    );
    assert_eq!(town.cents(2) + town.cents(3), both_cents - 1_000);
    assert_eq!(town.audit().wrongly_accused, 0);
}

#[test]
fn change_that_is_owed_is_withdrawn_once_and_given_though_the_payer_is_silent() {
    let mut town = Town::<Counted>::new(3, CALM);
    town.run_until(10.0);
    // Both are told that there is change, and there is only one 2 EUR coin to give less than 5.
    let minted_cents = town.audit().minted_cents;
    for payer in [1, 2] {
        town.pay(payer, 0, 8_299, Conduct::Honest);
    }
    town.run_for(4_000.0);
    let stored = town.messages(EventKind::Store);
    assert_eq!(stored, town.messages(EventKind::StorePeer));
    let audit = town.audit();
    assert!(audit.minted_cents - minted_cents < 20_000, "{audit:?}");
}

#[test]
fn a_payer_is_held_to_his_offer_and_nobody_is_paid_with_nothing() {
    let mut town = Town::<Counted>::new(3, CALM);
    town.run_until(10.0);
    let (payer, payee) = (NodeId(1), NodeId(2));
    let before_cents = town.cents(2);
    for sequence in 0..2_000 {
        let payment = MessageId::new(payer, 1_000 + sequence);
        let terms = Terms {
            amount_cents: 0,
            tendered_cents: 5_000,
            challenge: None,
        };
        let tokens = std::sync::Arc::from([]);
        let body = Body::Payment {
            payment,
            terms,
            tokens,
        };
        let message = Message { id: payment, body };
        let mut out = Vec::new();
        town.nodes[2].receive(payer, message, town.now, &mut out);
        town.drain(payee, out);
    }
    assert_eq!(
        town.cents(2),
        before_cents,
        "no change for what was never asked"
    );
    let holder = town.nodes[2].holder().expect("no authority");
    assert_eq!(holder.outbox().count(), 0, "and nothing is kept of it");
}

/// The thesis's victim: paid twice with one token, he spends it twice in good faith.
fn replay(handshake: Handshake) -> Town<Counted> {
    let mut town = Town::<Counted>::new(5, Setting { handshake, ..CALM });
    town.run_until(10.0);
    town.online = false;
    town.pay(1, 2, 5_000, Conduct::Honest);
    town.run_for(5.0);
    for payee in [3, 4] {
        // All that he has, so the paid tokens are among it.
        town.pay(2, payee, town.cents(2) as u32, Conduct::Honest);
        town.run_for(5.0);
        town.pay(1, 2, 5_000, Conduct::Replay);
        town.run_for(5.0);
    }
    town.online = true;
    town.run_for(2_000.0);
    town
}

#[test]
fn a_replay_makes_its_victim_the_accused_unless_he_asks_for_an_answer() {
    let robbed = replay(Handshake::None);
    let robbed = robbed.audit();
    assert!(robbed.wrongly_accused > 0);
    assert_eq!(robbed.wrongly_accused, robbed.accused);
    let saved = replay(Handshake::Challenge);
    assert_eq!(saved.audit().accused, 0);
    assert_eq!(saved.count(EventKind::Refuse), 2, "both replays");
}

#[test]
fn a_payment_is_cancelled_when_nobody_answers_and_its_request_is_forgotten() {
    let mut town = Town::<Counted>::new(2, CALM);
    town.run_until(10.0);
    town.setting.lose_per_mille = 1_000;
    town.pay(1, 0, 100, Conduct::Honest);
    town.run_for(60.0);
    assert_eq!(town.count(EventKind::Lose), 1);
    assert_eq!(town.cents(1), 8_300);
    town.pay(1, 0, 90_000, Conduct::Honest);
    town.pay(1, 1, 100, Conduct::Honest);
    town.pay(1, 7, 100, Conduct::Honest);
    assert_eq!(town.count(EventKind::Unpayable), 3);
}

#[test]
fn a_shop_cashes_in_what_is_above_its_till() {
    let mut town = Town::<Counted>::new(3, CALM);
    town.run_until(10.0);
    town.pay(1, 0, 5_000, Conduct::Honest);
    town.pay(2, 0, 5_000, Conduct::Honest);
    town.run_for(2_000.0);
    let audit = town.audit();
    assert!(
        (5_000..=10_000).contains(&audit.redeemed_cents),
        "{audit:?}"
    );
    assert_eq!(
        audit.minted_cents,
        audit.redeemed_cents + audit.circulating_cents
    );
}

#[test]
fn messages_weigh_what_their_tokens_do() {
    let mut town = Town::<Counted>::new(2, CALM);
    town.run_until(0.5);
    let letter = |town: &Town<Counted>| town.mail.values().next().map(|of| of.2.wire_bytes());
    town.run_until(10.0);
    town.pay(1, 0, 1_000, Conduct::Honest);
    assert_eq!(letter(&town), Some(9 + 8));
    town.mail.clear();
}

fn any_town(setting: Setting, holders: u32, steps: usize) -> Town<Counted> {
    let mut town = Town::<Counted>::new(holders, setting);
    town.run_until(20.0);
    for _ in 0..steps {
        let from = town.chance.below(holders as usize) as u32;
        let to = town.chance.below(holders as usize) as u32;
        let amount_cents = 1 + town.chance.below(4_000) as u32;
        // Only node 1 cheats.
        let conduct = match (from, town.chance.below(3)) {
            _ if !setting.cheats => Conduct::Honest,
            (1, 0) => Conduct::DoubleSpend,
            (1, 1) => Conduct::Replay,
            _ => Conduct::Honest,
        };
        town.pay(from, to, amount_cents, conduct);
        let pause_s = [0.01, 1.0, 30.0, 700.0][town.chance.below(4)];
        town.run_for(pause_s);
        town.online = town.chance.below(4) > 0;
        town.audit();
    }
    // Everything is repeated until it is answered.
    town.online = true;
    town.setting.lose_per_mille = 0;
    town.run_for(20_000.0);
    town
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn without_cheats_nobody_is_accused_with_or_without_the_handshake(
        lose_per_mille in 0..400usize,
        double_per_mille in 0..300usize,
        is_online: bool,
        is_challenging: bool,
        holders in 3..8u32,
        seed: u64,
    ) {
        let acceptance = if is_online { Acceptance::Online } else { Acceptance::Offline };
        let handshake = if is_challenging { Handshake::Challenge } else { Handshake::None };
        let setting = Setting {
            handshake,
            acceptance,
            lose_per_mille,
            double_per_mille,
            cheats: false,
            seed: seed >> 40,
            ..CALM
        };
        let town = any_town(setting, holders, 60);
        let audit = town.audit();
        prop_assert_eq!((audit.accused, audit.lost_cents, audit.undetected_serials), (0, 0, 0));
        prop_assert_eq!(audit.held_cents, audit.circulating_cents);
        prop_assert_eq!(town.messages(EventKind::Store), town.messages(EventKind::StorePeer));
    }

    #[test]
    fn the_prototype_loses_what_its_answers_lose_and_no_more(
        lose_per_mille in 0..300usize,
        holders in 3..6u32,
        seed: u64,
    ) {
        let (handshake, rules) = (Handshake::None, Rules::Prototype);
        let setting = Setting { handshake, rules, lose_per_mille, cheats: false, seed: seed >> 40, ..CALM };
        let audit = any_town(setting, holders, 40).audit();
        prop_assert_eq!(audit.held_cents + audit.vanished_cents, audit.circulating_cents);
        prop_assert!(lose_per_mille > 0 || audit.vanished_cents == 0);
    }

    #[test]
    fn whatever_is_lost_or_doubled_money_is_conserved(
        lose_per_mille in 0..400usize,
        double_per_mille in 0..300usize,
        is_online: bool,
        holders in 3..8u32,
        seed: u64,
    ) {
        let acceptance = if is_online { Acceptance::Online } else { Acceptance::Offline };
        let setting = Setting { lose_per_mille, double_per_mille, acceptance, seed: seed >> 40, ..CALM };
        let town = any_town(setting, holders, 60);
        let audit = town.audit();
        prop_assert_eq!(audit.wrongly_accused, 0);
        prop_assert_eq!(audit.pending_cents, 0, "all was answered");
        let named = town.events.iter().filter(|(_, _, event)| event.kind == EventKind::Accuse);
        prop_assert!(named.clone().all(|(_, _, event)| event.peer == NodeId(1)));
        // Both sides say the same of each payment.
        let (stored, peers) = (town.messages(EventKind::Store), town.messages(EventKind::StorePeer));
        prop_assert!(stored.is_subset(&peers));
        let lost = town.messages(EventKind::Lose);
        prop_assert!(stored.is_disjoint(&lost));
    }
}
