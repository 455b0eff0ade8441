//! A town of wallet owners and an authority for tests of payments: messages that take time, and may be
//! lost or come twice.

use std::collections::{BTreeMap, BTreeSet};

use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::Crypto;
use pocketsim_protocols::payment::*;
use pocketsim_protocols::token::{Authority, Client, Denomination, Handshake, Rules, Token};

use crate::tokens::{key, signer, Chance};

pub struct Source(pub Chance);

impl Random for Source {
    fn word(&mut self) -> u64 {
        self.0.word()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub handshake: Handshake,
    pub acceptance: Acceptance,
    pub rules: Rules,
    pub cheats: bool,
    pub lose_per_mille: usize,
    pub double_per_mille: usize,
    pub seed: u64,
}

pub const CALM: Setting = Setting {
    handshake: Handshake::Challenge,
    acceptance: Acceptance::Offline,
    rules: Rules::Thesis,
    cheats: true,
    lose_per_mille: 0,
    double_per_mille: 0,
    seed: 1,
};

/// Nodes 0.. hold wallets; the last is the authority. Messages take between 10 and 20 ms.
pub struct Town<C: Crypto> {
    pub nodes: Vec<Participant<C, Source>>,
    pub directory: std::sync::Arc<Directory>,
    pub setting: Setting,
    pub chance: Chance,
    /// By time in nanoseconds and number.
    pub mail: BTreeMap<(u64, u64), (NodeId, NodeId, Message)>,
    pub sent: u64,
    pub now: Seconds,
    /// Whether the authority can be reached.
    pub online: bool,
    pub events: Vec<(Seconds, NodeId, Event)>,
}

impl<C: Crypto> Town<C> {
    pub fn new(owners: u32, setting: Setting) -> Self {
        let keys = (0..=owners).map(key::<C>).collect();
        let directory = Directory::new(keys, NodeId(owners));
        let source = |node: u32| Source(Chance(setting.seed << 32 | u64::from(node)));
        let mut nodes: Vec<Participant<C, Source>> = (0..owners)
            .map(|node| {
                let authority = key::<C>(owners);
                let client = Client::new(signer(node), vec![authority], setting.handshake);
                let config = config(node, setting.acceptance);
                let owner = WalletOwner::new(
                    NodeId(node),
                    client,
                    source(node),
                    directory.clone(),
                    config,
                );
                Participant::WalletOwner(Box::new(owner))
            })
            .collect();
        let authority = Authority::new(signer(owners), setting.rules);
        let session = AuthoritySession::new(authority, source(owners), directory.clone());
        nodes.push(Participant::AuthoritySession(Box::new(session)));
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

    pub fn pay(&mut self, from: u32, to: u32, amount_cents: u32, conduct: Conduct) {
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

    /// Gives `body` to node `to`; what it sends then, which is not carried.
    pub fn give(&mut self, from: u32, to: u32, body: Body) -> Vec<Body> {
        let id = MessageId::new(NodeId(from), u32::MAX);
        let mut out = Vec::new();
        let message = Message { id, body };
        self.nodes[to as usize].receive(NodeId(from), message, self.now, &mut out);
        let mut sent = Vec::new();
        for output in out {
            match output {
                Output::Send { message, .. } => sent.push(message.body),
                Output::Observe(event) => self.events.push((self.now, NodeId(to), event)),
                _ => {}
            }
        }
        sent
    }

    /// `from` offers `to` a payment; the offer is not carried.
    pub fn offered(&mut self, from: u32, to: u32, amount_cents: u32) -> MessageId {
        assert!(self.mail.is_empty(), "nobody else says anything");
        self.pay(from, to, amount_cents, Conduct::Honest);
        let (_, (_, _, message)) = self.mail.pop_first().expect("an offer");
        match message.body {
            Body::Offer { payment, .. } => payment,
            other => panic!("{other:?}"),
        }
    }

    pub fn reasons(&self, kind: EventKind) -> Vec<Option<Reason>> {
        let rows = self.events.iter().map(|(_, _, event)| event);
        rows.filter(|event| event.kind == kind)
            .map(|event| event.reason)
            .collect()
    }

    pub fn owner(&self, node: u32) -> &WalletOwner<C, Source> {
        let owner = self.nodes[node as usize].wallet_owner();
        owner.expect("no authority")
    }

    pub fn drain(&mut self, node: NodeId, out: OutputsOf<Participant<C, Source>>) {
        for output in out {
            match output {
                Output::Send { to, message } => self.post(node, to, message),
                Output::Observe(event) => self.events.push((self.now, node, event)),
                _ => {}
            }
        }
    }

    pub fn post(&mut self, from: NodeId, to: NodeId, message: Message) {
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
    pub fn run_until(&mut self, end_s: Seconds) {
        loop {
            let letter_s = self.mail.keys().next().map(|(date, _)| *date as f64 * 1e-9);
            let alarms = self.nodes.iter().zip(0..);
            let alarms = alarms.filter_map(|(node, at)| Some((node.next_timeout()?.0, at)));
            let alarm = alarms.min_by(|a, b| a.0.total_cmp(&b.0));
            let (alarm_s, at) = alarm.expect("wallet owners call again and again");
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

    pub fn run_for(&mut self, length_s: Seconds) {
        self.run_until(self.now + length_s);
    }

    /// Lets everything happen but that a letter of `node` arrives; none is faster than 10 ms.
    pub fn run_without(&mut self, node: u32, length_s: Seconds) {
        let end_s = self.now + length_s;
        while self.now < end_s {
            self.run_until(end_s.min(self.now + 0.005));
            self.mail.retain(|_, (from, _, _)| *from != NodeId(node));
        }
    }

    pub fn audit(&self) -> Audit {
        let found = audit(&self.nodes, &self.directory, self.setting.handshake);
        found.unwrap_or_else(|violation| panic!("{violation:?}"))
    }

    pub fn cents(&self, node: u32) -> u64 {
        self.owner(node).wallet().held_cents()
    }

    pub fn count(&self, kind: EventKind) -> usize {
        self.events
            .iter()
            .filter(|(_, _, event)| event.kind == kind)
            .count()
    }

    pub fn messages(&self, kind: EventKind) -> BTreeSet<MessageId> {
        let all = self.events.iter().map(|(_, _, event)| event);
        all.filter(|event| event.kind == kind)
            .map(|event| event.message)
            .collect()
    }
}

/// What tokens come to, in cents.
pub fn worth<'a>(tokens: impl Iterator<Item = &'a Token>) -> u64 {
    let value = |token: &Token| Denomination::from_byte(token.value).expect("money");
    tokens.map(|token| value(token).cents()).sum()
}

pub fn config(node: u32, acceptance: Acceptance) -> WalletOwnerConfig {
    WalletOwnerConfig {
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
