//! The listener's half of control: who dialled, and in which repetition each of them is.
//!
//! Every question has one answer, however often it is asked. No sockets and no clock here.

use std::collections::btree_map::{BTreeMap, Entry};

use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::crypto::Key;

use super::control::Control;
use super::node::Node;
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

/// Everybody who dialled.
#[derive(Debug, Default)]
pub struct Host {
    sessions: BTreeMap<u64, Session>,
}

impl Host {
    /// The answer to `control`, if it has one.
    pub fn answer(&mut self, control: &Control, node: &Node) -> Option<Control> {
        match *control {
            Control::Hello {
                session,
                key,
                carrier,
                repetition,
                number,
            } => {
                if let Entry::Vacant(place) = self.sessions.entry(session) {
                    match admit(key, carrier, repetition, number, node) {
                        Some(new) => place.insert(new),
                        None => return Some(Control::Full { session }),
                    };
                }
                self.welcome(session, key, node)
            }
            Control::Start {
                session,
                repetition,
            } => self.start(session, repetition, node),
            Control::Finish {
                session,
                repetition,
            } => self.finish(session, repetition, node),
            // Answers, which nobody asked this end for.
            _ => None,
        }
    }

    /// The latest repetition of everybody, by its place in the log.
    pub fn current_runs(&self) -> impl Iterator<Item = usize> + '_ {
        self.sessions.values().map(|session| session.run)
    }

    fn welcome(&self, session: u64, key: Key, node: &Node) -> Option<Control> {
        // Two diallers with one session would be a chance of one in 2^64, or a prank.
        let known = self.sessions.get(&session).filter(|s| s.key == key)?;
        Some(Control::Welcome {
            session,
            key: node.key(),
            number: known.number,
        })
    }

    fn start(&mut self, session: u64, repetition: u32, node: &Node) -> Option<Control> {
        let Some(known) = self.sessions.get_mut(&session) else {
            return Some(Control::WhoAreYou);
        };
        if repetition < known.repetition {
            return None;
        }
        if repetition > known.repetition {
            let run = node.begin(known.node, known.number, repetition, known.carrier);
            let Some(run) = run else {
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
        let Some(known) = self.sessions.get(&session) else {
            return Some(Control::WhoAreYou);
        };
        let current = known.repetition == repetition;
        current.then(|| Control::Summary {
            session,
            repetition,
            tally: node.summary(known.run),
        })
    }
}

fn admit(key: Key, carrier: Carrier, repetition: u32, wants: u32, node: &Node) -> Option<Session> {
    let number = node.free_number(key, wants);
    let peer = node.introduce(key, number)?;
    let run = node.begin(peer, number, repetition, carrier)?;
    Some(Session {
        key,
        number,
        node: peer,
        carrier,
        repetition,
        run,
    })
}
