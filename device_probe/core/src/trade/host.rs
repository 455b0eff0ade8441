//! The listener's half of control: who dialled, and in which repetition each of them is.
//!
//! Every question has one answer, however often it is asked. Nobody is let in, and nothing is
//! verified, before the address is proved by a cookie; nobody is believed without a signature. No
//! sockets and no clock here.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use pocketsim_protocols::contract::{NodeId, Seconds};
use pocketsim_protocols::crypto::Key;

use super::control::{Control, Hello};
use super::cookie::Cookies;
use super::envelope::Envelope;
use super::limit::PerSecond;
use super::log::Run;
use super::node::Node;
use super::prefix::Prefix;
use super::Carrier;

/// One dialler.
#[derive(Clone, Copy, Debug)]
struct Session {
    key: Key,
    number: u32,
    node: NodeId,
    carrier: Carrier,
    repetition: u32,
    run: usize,
}

/// What was not answered, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Questions whose signature is not that of their session.
    pub forged: u64,
    /// Questions beyond so many a second from one host: not looked at.
    pub hurried: u64,
    /// Hellos with a key that is taken: the listener's own, or that of another session.
    pub taken: u64,
    /// Hellos from a host that has as many sessions as one may have.
    pub crowded: u64,
}

/// Everybody who dialled.
#[derive(Debug)]
pub struct Host {
    sessions: BTreeMap<u64, Session>,
    keys: BTreeSet<Key>,
    cookies: Cookies,
    sources: BTreeMap<Prefix, Source>,
    verifications: PerSecond,
    counts: HostCounts,
}

/// What one host may still ask for.
#[derive(Clone, Debug)]
struct Source {
    sessions: u32,
    questions: PerSecond,
    active_s: Seconds,
}

impl Host {
    /// Nobody dialled yet; `secret` is what its cookies cannot be guessed for.
    pub fn new(secret: [u8; 32]) -> Self {
        Self {
            sessions: BTreeMap::new(),
            keys: BTreeSet::new(),
            cookies: Cookies::new(secret),
            sources: BTreeMap::new(),
            verifications: PerSecond::new(VERIFICATIONS_PER_S),
            counts: HostCounts::default(),
        }
    }

    /// The answer to a question that came from `from`, if it has one.
    pub fn answer(
        &mut self,
        envelope: &Envelope<'_>,
        from: SocketAddr,
        node: &Node,
    ) -> Option<Control> {
        match envelope.control {
            Control::Hello(hello) => self.hello(hello, envelope, from, node),
            Control::Start {
                session,
                repetition,
                first_sequence,
            } => self.of_session(session, envelope, from, node, |this| {
                this.start(session, repetition, first_sequence, node)
            }),
            Control::Finish {
                session,
                repetition,
            } => self.of_session(session, envelope, from, node, |this| {
                this.finish(session, repetition, node)
            }),
            // Answers, which nobody asked this end for.
            _ => None,
        }
    }

    /// The latest repetition of everybody, by its place in the log.
    pub fn current_runs(&self) -> impl Iterator<Item = usize> + '_ {
        self.sessions.values().map(|session| session.run)
    }

    /// Whether a peer has introduced itself from there: with a cookie, and signed.
    pub fn knows(&self, from: Prefix) -> bool {
        let source = self.sources.get(&from);
        source.is_some_and(|source| source.sessions > 0)
    }

    /// What was not answered so far.
    pub fn counts(&self) -> HostCounts {
        self.counts
    }

    fn hello(
        &mut self,
        hello: Hello,
        envelope: &Envelope<'_>,
        from: SocketAddr,
        node: &Node,
    ) -> Option<Control> {
        let Hello { session, key, .. } = hello;
        let now_s = node.now_s();
        if !self.cookies.is_valid(&hello.cookie, from, session, now_s) {
            let cookie = self.cookies.make(from, session, now_s);
            return Some(Control::Cookie { session, cookie });
        }
        if !self.proves(envelope, &key, from, now_s) {
            return None;
        }
        let known = match self.sessions.get(&session) {
            Some(known) => *known,
            None => match self.admit(hello, from, node)? {
                Some(new) => new,
                None => return Some(Control::Full { session }),
            },
        };
        // Two diallers with one session would be a chance of one in 2^64, or a prank.
        (known.key == key).then(|| Control::Welcome {
            session,
            key: node.key(),
            number: known.number,
            round: hello.round,
        })
    }

    /// A new session; not even an answer if its key is taken, nobody if there is no room.
    fn admit(&mut self, hello: Hello, from: SocketAddr, node: &Node) -> Option<Option<Session>> {
        if hello.key == node.key() || self.keys.contains(&hello.key) {
            self.counts.taken += 1;
            return None;
        }
        let source = self.sources.entry(Prefix::of(from)).or_default();
        if source.sessions == SESSIONS_OF_SOURCE_MAX {
            self.counts.crowded += 1;
            return Some(None);
        }
        let new = begin(hello, node);
        if let Some(new) = new {
            source.sessions += 1;
            self.keys.insert(hello.key);
            self.sessions.insert(hello.session, new);
        }
        Some(new)
    }

    /// What `then` says, if the question is the session's.
    fn of_session(
        &mut self,
        session: u64,
        envelope: &Envelope<'_>,
        from: SocketAddr,
        node: &Node,
        then: impl FnOnce(&mut Self) -> Option<Control>,
    ) -> Option<Control> {
        let Some(Session { key, .. }) = self.sessions.get(&session).copied() else {
            return Some(Control::WhoAreYou);
        };
        match self.proves(envelope, &key, from, node.now_s()) {
            true => then(self),
            false => None,
        }
    }

    /// Whether the owner of `key` asks, and not too often for it to be found out.
    fn proves(
        &mut self,
        envelope: &Envelope<'_>,
        key: &Key,
        from: SocketAddr,
        now_s: Seconds,
    ) -> bool {
        let source = self.source(from, now_s);
        if !(source.questions.allows(now_s) && self.verifications.allows(now_s)) {
            self.counts.hurried += 1;
            return false;
        }
        let is_its = envelope.is_by(key);
        self.counts.forged += u64::from(!is_its);
        is_its
    }

    fn source(&mut self, from: SocketAddr, now_s: Seconds) -> &mut Source {
        let host = Prefix::of(from);
        if self.sources.len() == SOURCES_MAX && !self.sources.contains_key(&host) {
            let idle = self.sources.iter().filter(|(_, one)| one.sessions == 0);
            let oldest =
                idle.min_by(|(_, one), (_, other)| one.active_s.total_cmp(&other.active_s));
            let oldest = *oldest.expect("fewer sessions than sources").0;
            self.sources.remove(&oldest);
        }
        let source = self.sources.entry(host).or_default();
        source.active_s = now_s;
        source
    }

    fn start(
        &mut self,
        session: u64,
        repetition: u32,
        first_sequence: u32,
        node: &Node,
    ) -> Option<Control> {
        let known = self.sessions.get_mut(&session)?;
        if repetition < known.repetition {
            return None;
        }
        // More than one further is possible: the others found nobody here.
        if repetition > known.repetition {
            let run = Run::new(known.number, repetition, known.carrier, first_sequence);
            let Some(run) = node.begin(known.node, run) else {
                return Some(Control::Full { session });
            };
            (known.repetition, known.run) = (repetition, run);
        }
        Some(Control::Ready {
            session,
            repetition,
        })
    }

    fn finish(&self, session: u64, repetition: u32, node: &Node) -> Option<Control> {
        let known = self.sessions.get(&session)?;
        let current = known.repetition == repetition;
        current.then(|| Control::Summary {
            session,
            repetition,
            tally: node.summary(known.run),
        })
    }
}

impl Default for Source {
    fn default() -> Self {
        Self {
            sessions: 0,
            questions: PerSecond::new(QUESTIONS_OF_SOURCE_PER_S),
            active_s: 0.0,
        }
    }
}

fn begin(hello: Hello, node: &Node) -> Option<Session> {
    let Hello {
        key,
        carrier,
        repetition,
        ..
    } = hello;
    let number = node.free_number(key, hello.number);
    let peer = node.introduce(key, number)?;
    // The first one that it hears of: whatever comes belongs to it.
    let run = node.begin(peer, Run::new(number, repetition, carrier, 0))?;
    Some(Session {
        key,
        number,
        node: peer,
        carrier,
        repetition,
        run,
    })
}

/// A quarter of the places, so that one host cannot shut out all others; behind a relay or a NAT
/// many diallers are one host.
const SESSIONS_OF_SOURCE_MAX: u32 = 1_024;
/// A dialler asks at most five times a second; many may share an address.
const QUESTIONS_OF_SOURCE_PER_S: u32 = 100;
/// At some 0.1 ms each on a phone a tenth of one core, whoever forges how many addresses.
const VERIFICATIONS_PER_S: u32 = 1_000;
/// More than there are places for diallers, so that one of them is always idle.
const SOURCES_MAX: usize = 8_192;
