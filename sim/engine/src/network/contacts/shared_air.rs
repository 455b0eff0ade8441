//! The air that contacts share: whoever hears somebody send waits.
//!
//! A datagram waits until neither its sender nor its receiver hears another one on the same kind of
//! link, and is then heard by all that are near either: carrier sensing with RTS and CTS (IEEE
//! 802.11, 10.3.2), without collisions and back-off. Who asks first sends first. What deliberately
//! does not live here: how long a datagram takes, and when contacts begin and end.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::Seconds;

/// A phone on the air of one kind of link.
type Ear = (u32, usize);

/// Who hears whom, and what everybody is going to hear.
#[derive(Debug, Default)]
pub struct SharedAir {
    /// Number of contacts by phone, kind of link and the other phone.
    near: BTreeMap<Ear, BTreeMap<u32, u32>>,
    heard: BTreeMap<Ear, Vec<Datagram>>,
}

#[derive(Clone, Copy, Debug)]
struct Datagram {
    from: u32,
    start_s: Seconds,
    end_s: Seconds,
}

impl SharedAir {
    /// A contact of two phones on kind `link` begins.
    pub fn open(&mut self, one: u32, other: u32, link: usize) {
        for (phone, peer) in [(one, other), (other, one)] {
            let peers = self.near.entry((phone, link)).or_default();
            *peers.entry(peer).or_default() += 1;
        }
    }

    /// A contact that was opened ends.
    pub fn close(&mut self, one: u32, other: u32, link: usize) {
        for (phone, peer) in [(one, other), (other, one)] {
            let peers = self.near.get_mut(&(phone, link)).expect("it was opened");
            let count = peers.get_mut(&peer).expect("it was opened");
            *count -= 1;
            if *count == 0 {
                peers.remove(&peer);
            }
        }
    }

    /// When two phones hear nothing any more of what is known at `now`.
    pub fn free_s(&mut self, from: u32, to: u32, link: usize, now: Seconds) -> Seconds {
        [from, to].into_iter().fold(now, |free_s, phone| {
            let Some(heard) = self.heard.get_mut(&(phone, link)) else {
                return free_s;
            };
            heard.retain(|datagram| datagram.end_s > now);
            heard.iter().map(|one| one.end_s).fold(free_s, f64::max)
        })
    }

    /// `from` sends to `to` from `start_s` until `end_s`: both hear it, and who is near either.
    pub fn occupy(&mut self, from: u32, to: u32, link: usize, start_s: Seconds, end_s: Seconds) {
        let peers = |phone| self.near.get(&(phone, link)).into_iter().flatten();
        let mut ears: Vec<u32> = peers(from)
            .chain(peers(to))
            .map(|(&phone, _)| phone)
            .collect();
        ears.extend([from, to]);
        ears.sort_unstable();
        ears.dedup();
        let datagram = Datagram {
            from,
            start_s,
            end_s,
        };
        for phone in ears {
            self.heard.entry((phone, link)).or_default().push(datagram);
        }
    }

    /// A phone goes off: nobody hears what it has not begun, and what it has begun ends.
    pub fn silence(&mut self, phone: u32, now: Seconds) {
        for heard in self.heard.values_mut() {
            heard.retain(|one| one.from != phone || one.start_s < now);
            for one in heard.iter_mut().filter(|one| one.from == phone) {
                one.end_s = one.end_s.min(now);
            }
        }
    }
}
