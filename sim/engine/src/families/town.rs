//! A town that pays with tokens: from the plan to its machines, and the audit at its end.
//!
//! What deliberately does not live here: the machines, and what they cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use pocketsim_protocols::contract::{Conduct, NodeId, Random, Seconds};
use pocketsim_protocols::crypto::Crypto;
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::payment::{
    audit, Acceptance, AuthoritySession, Directory, Participant, WalletOwner, WalletOwnerConfig,
};
use pocketsim_protocols::token::{Authority, Client, Handshake, Rules, Signer};

use crate::base::rng::Stream;
use crate::families::final_state::FinalState;
use crate::plan::{Phones, Plan, Tokens};

/// The machines of one town, made phone by phone.
pub(crate) struct Town {
    seed: u64,
    options: Tokens,
    roles: Vec<u32>,
    replays: Vec<bool>,
    handshake: Handshake,
    rules: Rules,
    acceptance: Acceptance,
    directory: Arc<Directory>,
}

/// Numbers for a machine from a stream of its own.
pub(crate) struct Draws(Stream);

impl Random for Draws {
    fn word(&mut self) -> u64 {
        self.0.word()
    }
}

impl Town {
    /// The town of `plan`, whose keys are those of `C`.
    ///
    /// # Errors
    /// When the plan has no options of tokens, unknown ones, or not one authority.
    pub(crate) fn new<C: Crypto>(plan: &Plan) -> Result<Self, String> {
        let options = plan.protocol.tokens.clone();
        let options = options.ok_or("protocol tokens has no options")?;
        let roles = plan.phones.role.clone();
        let authorities = roles
            .iter()
            .zip(0..)
            .filter(|(role, _)| **role == Phones::AUTHORITY);
        let [authority] = authorities.map(|(_, node)| node).collect::<Vec<u32>>()[..] else {
            return Err("a town has one authority".into());
        };
        let keys = (0..roles.len() as u32).map(|node| *signer::<C>(plan.seed, node).public_key());
        Ok(Self {
            seed: plan.seed,
            handshake: named(Handshake::ALL, Handshake::name, &options.handshake)?,
            rules: named(Rules::ALL, Rules::name, &options.rules)?,
            acceptance: named(Acceptance::ALL, Acceptance::name, &options.acceptance)?,
            directory: Directory::new(keys.collect(), NodeId(authority)),
            replays: replays(plan),
            options,
            roles,
        })
    }

    /// The machine of `node`.
    pub(crate) fn participant<C: Crypto>(&self, node: u32) -> Participant<C, Draws> {
        let draws = Draws(Stream::new(self.seed, "tokens", node));
        let (signer, directory) = (signer::<C>(self.seed, node), self.directory.clone());
        let most = self.options.recipients_max as usize;
        if self.roles[node as usize] == Phones::AUTHORITY {
            let authority = Authority::new(signer, self.rules).with_recipients_max(most);
            let session = AuthoritySession::new(authority, draws, directory);
            return Participant::AuthoritySession(Box::new(session));
        }
        let client = Client::new(signer, vec![self.authority()], self.handshake);
        let client = client.with_recipients_max(most);
        let config = self.config(node);
        let owner = WalletOwner::new(NodeId(node), client, draws, directory, config);
        Participant::WalletOwner(Box::new(owner))
    }

    /// Where the money is at the end, by name; see [`pocketsim_protocols::payment::Audit`].
    ///
    /// # Panics
    /// When money was lost, or doubled by nobody: then the machines are wrong.
    pub(crate) fn final_state<C: Crypto>(&self, town: &[Participant<C, Draws>]) -> FinalState {
        let found = audit(town, &self.directory, self.handshake);
        let found = found.unwrap_or_else(|violation| panic!("money: {}", violation.0));
        let counters = BTreeMap::from([
            ("minted_cents", found.minted_cents),
            ("redeemed_cents", found.redeemed_cents),
            ("circulating_cents", found.circulating_cents),
            ("refused_cents", found.refused_cents),
            ("lost_cents", found.lost_cents),
            ("held_cents", found.held_cents),
            ("pending_cents", found.pending_cents),
            ("undetected_serials", found.undetected_serials),
            ("undetected_cents", found.undetected_cents),
            ("vanished_cents", found.vanished_cents),
            ("accused", found.accused),
            ("wrongly_accused", found.wrongly_accused),
        ]);
        let kept = found.kept_cents.iter();
        FinalState {
            final_index: vec![0; town.len()],
            counters,
            kept_cents: kept
                .map(|(serial, cents)| (u64::from_be_bytes(*serial), *cents))
                .collect(),
            ..FinalState::default()
        }
    }

    /// The key of the authority.
    pub(crate) fn authority(&self) -> PublicKey {
        let key = self.directory.key(self.directory.authority());
        key.expect("the directory has it")
    }

    fn config(&self, node: u32) -> WalletOwnerConfig {
        let options = &self.options;
        let is_shop = self.roles[node as usize] == Phones::SHOP;
        let (full_cents, low_cents) = if is_shop {
            (options.shop_till_cents, options.shop_till_cents / 2)
        } else {
            (options.person_wallet_cents, options.person_low_cents)
        };
        WalletOwnerConfig {
            acceptance: self.acceptance,
            full_cents: u64::from(full_cents),
            low_cents: u64::from(low_cents),
            redeems: is_shop,
            replays: self.replays[node as usize],
            batch_tokens: options.batch_tokens as usize,
            settle_interval_s: options.settle_interval_s,
            first_call_s: self.first_call_s(node),
            payment_timeout_s: options.payment_timeout_s,
        }
    }

    /// Not all phones call in the same second.
    fn first_call_s(&self, node: u32) -> Seconds {
        Stream::new(self.seed, "first call", node).uniform() * self.options.settle_interval_s
    }
}

/// Whom the plan makes replay at all.
fn replays(plan: &Plan) -> Vec<bool> {
    let mut replays = vec![false; plan.phones.profile.len()];
    let workload = &plan.workload;
    for (&from, &conduct) in workload.from_phone.iter().zip(&workload.conduct) {
        replays[from as usize] |= conduct == Conduct::Replay as u32;
    }
    replays
}

fn signer<C: Crypto>(seed: u64, node: u32) -> Signer<C> {
    // No machine computes with the half for encryption; it only tells keys apart.
    let curve = Draws(Stream::new(seed, "curve key", node)).bytes();
    Signer::new(C::new(seed, NodeId(node)), curve)
}

fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str, wanted: &str) -> Result<T, String> {
    let found = all.iter().find(|each| name(**each) == wanted);
    found
        .copied()
        .ok_or(format!("unknown option of tokens {wanted:?}"))
}
