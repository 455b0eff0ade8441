//! A wallet owner: what is kept of it between two inputs, and to which part inputs go.
//!
//! What deliberately does not live here: paying ([`super::payer`]), being paid
//! ([`super::payee`]) and dealing with the authority ([`super::settlement`]), which are parts
//! of the same machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::contract::{
    work, Event, EventKind, MessageId, NodeId, Operation, Output, Payload, Random, Seconds,
};
use crate::crypto::Crypto;
use crate::half_block::PublicKey;
use crate::token::{Client, Denomination, Handshake, Refusal, Serial, Token, Wallet, Work};

use super::message::Sender;
use super::payee::IncomingPayment;
use super::payer::OutgoingPayment;
use super::settlement::Settlement;
use super::{Body, Directory, Message, Out, WalletOwnerConfig};

/// A person or a shop.
pub struct WalletOwner<C, R> {
    pub(super) sender: Sender,
    pub(super) client: Client<C>,
    pub(super) random: R,
    pub(super) directory: Arc<Directory>,
    pub(super) config: WalletOwnerConfig,
    /// What it pays, by the payment.
    pub(super) outgoing: BTreeMap<MessageId, OutgoingPayment>,
    /// What it is paid, by the payment.
    pub(super) incoming: BTreeMap<MessageId, IncomingPayment>,
    /// The payments of `incoming` that have their receipt, the oldest first.
    pub(super) receipts: VecDeque<MessageId>,
    /// What it signed away and was refused: its own no more, and perhaps nobody's.
    pub(super) refused: Vec<Arc<[Token]>>,
    /// Offers that wait until the authority is reached (online), with amounts and tenders.
    pub(super) offers: BTreeMap<MessageId, (NodeId, (u64, u64))>,
    pub(super) settlement: Settlement,
    /// Proofs of tokens that it signed over and kept: to sign after one again is the crime.
    pub(super) kept: BTreeSet<(Serial, u64)>,
    /// What it paid last, by payee; only if it replays.
    pub(super) paid: BTreeMap<NodeId, Arc<[Token]>>,
}

impl<C: Crypto, R: Random> WalletOwner<C, R> {
    /// `node` with an empty wallet.
    pub fn new(
        node: NodeId,
        client: Client<C>,
        random: R,
        directory: Arc<Directory>,
        config: WalletOwnerConfig,
    ) -> Self {
        Self {
            sender: Sender::new(node),
            client,
            random,
            directory,
            config,
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            receipts: VecDeque::new(),
            refused: Vec::new(),
            offers: BTreeMap::new(),
            settlement: Settlement::new(config.first_call_s),
            kept: BTreeSet::new(),
            paid: BTreeMap::new(),
        }
    }

    /// What it holds.
    pub fn wallet(&self) -> &Wallet {
        self.client.wallet()
    }

    /// Tokens that it has signed away, by payment: what it paid and has no receipt for, and the
    /// change of each receipt that it may have to give again.
    pub fn outbox(&self) -> impl Iterator<Item = (MessageId, &[Token])> {
        let paid = self.outgoing.iter().map(|(id, of)| (*id, of.tokens()));
        let change = self.incoming.iter().map(|(id, of)| (*id, of.change()));
        paid.chain(change)
    }

    /// Tokens that it signed over to payees who would not have them.
    pub fn refused(&self) -> impl Iterator<Item = &Token> {
        self.refused.iter().flat_map(|tokens| tokens.iter())
    }

    /// Whether it still pays `payment`: neither complete nor given up.
    pub fn is_paying(&self, payment: &MessageId) -> bool {
        self.outgoing.contains_key(payment)
    }

    /// Whether it has ever signed a token of `serial` over and kept it.
    pub fn has_kept(&self, serial: &Serial) -> bool {
        let (first, last) = ((*serial, 0), (*serial, u64::MAX));
        self.kept.range(first..=last).next().is_some()
    }

    /// Change that it owes, in cents.
    pub fn owed_cents(&self) -> u64 {
        let incoming = self.incoming.values();
        incoming.map(IncomingPayment::owed_cents).sum()
    }

    /// Serials that it has ordered and not got.
    pub fn ordered(&self) -> impl Iterator<Item = Serial> + '_ {
        self.settlement.orders().iter().map(|order| order.serial)
    }

    /// Every token that it has ever signed over and kept.
    pub fn kept_serials(&self) -> impl Iterator<Item = Serial> + '_ {
        self.kept.iter().map(|(serial, _)| *serial)
    }

    pub(super) fn receive(&mut self, from: NodeId, message: Message, now: Seconds, out: &mut Out) {
        work(out, Operation::Decode, message.wire_bytes());
        let is_authority = from == self.directory.authority();
        match message.body {
            Body::Offer {
                payment,
                amount_cents,
                tendered_cents,
            } => self.offered(from, payment, (amount_cents, tendered_cents), now, out),
            Body::Request { payment, challenge } => {
                self.requested(from, payment, challenge, now, out);
            }
            Body::Decline { payment } => self.declined(from, payment, out),
            Body::Cancel { payment } => self.cancelled(from, payment),
            Body::Payment {
                payment,
                terms,
                tokens,
            } => self.paid(from, payment, (terms, &tokens), now, out),
            Body::Receipt {
                payment,
                refusal,
                change,
            } => self.receipted(from, payment, refusal, &change, out),
            Body::Welcome if is_authority => self.welcomed(now, out),
            Body::Minted(tokens) if is_authority => self.minted(&tokens, now, out),
            Body::Answers(answers) if is_authority => self.answered(&answers, now, out),
            // What only the authority is asked, or only it may say.
            _ => {}
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Seconds, out: &mut Out) {
        self.repeat_payments(now, out);
        self.call(now, out);
    }

    pub(super) fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        let repeats = self.outgoing.values().map(|of| (of.due_s(), "payment"));
        let call = (self.settlement.due_s(), "call on the authority");
        repeats.chain([call]).min_by(|a, b| a.0.total_cmp(&b.0))
    }

    pub(super) fn send(&mut self, to: NodeId, body: Body, out: &mut Out) {
        self.sender.send(to, body, out);
    }

    /// What can be paid with for `cents`: exactly that, or the least above.
    pub(super) fn selectable(&self, cents: u64) -> Option<u64> {
        let challenged = self.client.handshake() == Handshake::Challenge;
        let selected = self.wallet().select(cents, challenged);
        selected.map(|(change, _)| change.sum_cents)
    }

    pub(super) fn key(&self, node: NodeId) -> Option<PublicKey> {
        self.directory.key(node)
    }

    /// Takes tokens, and says what became of each: its worth, or why not.
    pub(super) fn take(
        &mut self,
        from: NodeId,
        tokens: &[Token],
        out: &mut Out,
    ) -> Vec<(Serial, Result<u64, Refusal>)> {
        let mut done = Work::new();
        let sizes: BTreeMap<Serial, u32> = tokens.iter().map(size).collect();
        let receipts = self.client.receive(tokens.to_vec(), &mut done);
        charge(out, &mut done);
        let cents = |denomination: Denomination| denomination.cents();
        let mut taken = Vec::with_capacity(receipts.len());
        for receipt in receipts {
            if receipt.outcome.is_ok() {
                let bytes = sizes[&receipt.serial];
                work(out, Operation::Store, bytes);
                let id = serial_id(&receipt.serial);
                out.push(Output::Observe(Event::new(
                    EventKind::Take,
                    id,
                    from,
                    bytes,
                )));
            }
            taken.push((receipt.serial, receipt.outcome.map(cents)));
        }
        taken
    }

    /// Writes a row for each of `signed` that was signed over to somebody before.
    pub(super) fn confess(&self, to: NodeId, signed: &[Token], out: &mut Out) {
        for token in signed
            .iter()
            .filter(|token| self.kept.contains(&before(token)))
        {
            let (id, bytes) = (serial_id(&token.serial), size(token).1);
            out.push(Output::Observe(Event::new(
                EventKind::DoubleSpend,
                id,
                to,
                bytes,
            )));
        }
    }
}

/// The proof that the last one of a token continues.
pub(super) fn before(token: &Token) -> (Serial, u64) {
    let recipients = token.recipients();
    let place = recipients.len().checked_sub(2).expect("it was handed on");
    let proof = &recipients[place].proof;
    let word = *proof.last_chunk().expect("a proof has 64 bytes");
    (token.serial, u64::from_be_bytes(word))
}

/// A serial as the number of a row of the trace.
pub(super) fn serial_id(serial: &Serial) -> MessageId {
    MessageId(u64::from_be_bytes(*serial))
}

pub(super) fn size(token: &Token) -> (Serial, u32) {
    let bytes = u32::try_from(token.wire_bytes()).expect("a token has at most 4 MB");
    (token.serial, bytes)
}

/// Charges what the machines of [`crate::token`] did.
pub(super) fn charge(out: &mut Out, done: &mut Work) {
    for (operation, bytes) in done.drain(..) {
        work(out, operation, bytes);
    }
}
