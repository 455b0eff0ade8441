//! An authority and its clients for tests of tokens, and chance by number.

pub mod fake_disk;

use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::crypto::Crypto;
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::*;

/// Number of the authority's key.
pub const AUTHORITY: u32 = 1_000_000;

pub fn signer<C: Crypto>(number: u32) -> Signer<C> {
    let mut curve = [7; 32];
    curve[..4].copy_from_slice(&number.to_be_bytes());
    Signer::new(C::new(1, NodeId(number)), curve)
}

pub fn key<C: Crypto>(number: u32) -> PublicKey {
    *signer::<C>(number).public_key()
}

pub fn denomination(cents: u64) -> Denomination {
    Denomination::from_cents(cents).expect("a denomination")
}

pub fn serial(number: u64) -> Serial {
    number.to_be_bytes()
}

/// SplitMix64: the same numbers for the same start.
pub struct Chance(pub u64);

impl Chance {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.word() % count as u64) as usize
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.word().to_be_bytes()[..chunk.len()]);
        }
        bytes
    }
}

/// One authority, clients 0.., and what passes between them without loss.
pub struct World<C> {
    pub authority: Authority<C>,
    pub clients: Vec<Client<C>>,
    pub chance: Chance,
    pub work: Work,
    minted: u64,
}

impl<C: Crypto> World<C> {
    pub fn new(clients: u32, rules: Rules, handshake: Handshake, seed: u64) -> Self {
        let authority = Authority::new(signer(AUTHORITY), rules);
        let known = vec![*authority.public_key()];
        let client = |number| Client::new(signer(number), known.clone(), handshake);
        Self {
            clients: (0..clients).map(client).collect(),
            authority,
            chance: Chance(seed),
            work: Work::new(),
            minted: 0,
        }
    }

    pub fn thesis(clients: u32) -> Self {
        Self::new(clients, Rules::Thesis, Handshake::Challenge, 1)
    }

    pub fn order(&mut self, to: usize, cents: u64) -> Order {
        self.minted += 1;
        let authority = *self.authority.public_key();
        Order {
            serial: serial(self.minted),
            denomination: denomination(cents),
            first: *self.clients[to].public_key(),
            challenge: self.challenge(to, authority),
        }
    }

    /// Mint for `to`, who takes it.
    pub fn mint(&mut self, to: usize, cents: u64) -> Serial {
        let order = self.order(to, cents);
        let random = self.chance.bytes();
        let minted = self.authority.mint(&order, random, &mut self.work);
        let (_, token) = minted.expect("a fresh serial");
        let receipts = self.clients[to].receive(vec![token], &mut self.work);
        assert_eq!(receipts[0].outcome, Ok(order.denomination));
        order.serial
    }

    pub fn challenge(&mut self, of: usize, giver: PublicKey) -> Option<Challenge> {
        let random = self.chance.bytes();
        let asked = self.clients[of].challenge(random, giver);
        asked.expect("fewer than 64 are outstanding")
    }

    /// `from` signs it to `to`, honestly or keeping it; `to` has not got it yet.
    pub fn sign(&mut self, from: usize, to: usize, serial: &Serial, keep: bool) -> Token {
        let challenge = self.challenge(to, self.key(from));
        let to = *self.clients[to].public_key();
        let (giver, work) = (&mut self.clients[from], &mut self.work);
        let token = if keep {
            giver.double_spend(serial, to, challenge, work)
        } else {
            giver.hand_on(serial, to, challenge, work)
        };
        token.expect("held, with room")
    }

    pub fn receive(&mut self, to: usize, token: Token) -> Result<Denomination, Refusal> {
        self.clients[to].receive(vec![token], &mut self.work)[0].outcome
    }

    /// `from` pays `to` with one token, who must take it.
    pub fn pay(&mut self, from: usize, to: usize, serial: &Serial) -> Token {
        let token = self.sign(from, to, serial, false);
        assert!(self.receive(to, token.clone()).is_ok());
        token
    }

    /// As [`World::pay`], and `from` keeps the token.
    pub fn cheat(&mut self, from: usize, to: usize, serial: &Serial) -> Token {
        let token = self.sign(from, to, serial, true);
        assert!(self.receive(to, token.clone()).is_ok());
        token
    }

    pub fn submit(&mut self, who: usize, serial: &Serial, intent: Intent) -> Submission {
        let random = self.chance.bytes();
        let submission = self.clients[who].submit(serial, intent, random, &mut self.work);
        submission.expect("something to submit")
    }

    pub fn decide(&mut self, submission: &Submission) -> Decision {
        let random = self.chance.bytes();
        self.authority.decide(submission, random, &mut self.work)
    }

    /// `who` submits, is answered, and settles.
    pub fn verify(&mut self, who: usize, serial: &Serial) -> Answer {
        let submission = self.submit(who, serial, Intent::Reissue);
        let answer = self.decide(&submission).answer;
        self.clients[who].settle(answer.clone(), &mut self.work);
        answer
    }

    pub fn key(&self, client: usize) -> PublicKey {
        *self.clients[client].public_key()
    }

    /// The books agree with a recount; return them.
    pub fn books(&self) -> Books {
        let books = self.authority.ledger().books();
        assert_eq!(books, self.authority.ledger().recount());
        books
    }
}

/// What `token` is but for its recipients, with these.
pub fn with_pairs(token: &Token, pairs: &[Recipient]) -> Token {
    let first = Recipient {
        challenge: None,
        ..pairs[0]
    };
    let (serial, value, nonce) = (token.serial, token.value, token.nonce);
    let mut other = Token::new(serial, value, token.authority, nonce, first);
    for pair in &pairs[1..] {
        other.push(*pair).expect("room");
    }
    other
}

/// A refusal with its culprits, or a panic.
pub fn refusal(answer: &Answer) -> (Refusal, Vec<PublicKey>) {
    match answer {
        Answer::Refused {
            reason, culprits, ..
        } => (*reason, culprits.clone()),
        other => panic!("not refused: {other:?}"),
    }
}

/// The reissued token, or a panic.
pub fn reissued(answer: &Answer) -> Token {
    match answer {
        Answer::Reissued(token) => token.clone(),
        other => panic!("not reissued: {other:?}"),
    }
}

/// Every order of `0..count`.
pub fn permutations(count: usize) -> Vec<Vec<usize>> {
    (0..count).fold(vec![Vec::new()], |orders, next| {
        let grow = |order: Vec<usize>| (0..=next).map(move |place| inserted(&order, place, next));
        orders.into_iter().flat_map(grow).collect()
    })
}

fn inserted(order: &[usize], place: usize, next: usize) -> Vec<usize> {
    let mut order = order.to_vec();
    order.insert(place, next);
    order
}
