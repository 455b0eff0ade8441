//! What conversations at rest would have done: counted, not simulated.
//!
//! Where ways neither vary nor lose, ends keep the rhythm that they have, and what they would have
//! sent is known to the datagram. Elsewhere it is what pairs of the same two networks send on
//! average ([`crate::phone::keepalive::habit`]), which is found once as many signs of life were
//! simulated as finding it takes. Each operation takes what it takes on average. What deliberately
//! does not live here: which conversations rest ([`crate::phone::keepalive::fast_forward`]).

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{Operation, Pace, Rhythm, Seconds, Upkeep};

use crate::base::rng::Stream;
use crate::cost::table::CostTable;
use crate::network::socket_buffer::wire_bytes;
use crate::phone::keepalive::habit::Habit;
use crate::plan::{Access, Plan};
use crate::record::recorder::Reckoned;

/// The upkeep of all conversations of a run that rested.
pub(crate) struct Upkeeps {
    pub(crate) mode: Mode,
    /// By phone, the number of its network; empty where no way varies.
    networks: Vec<u32>,
    /// By network, whether its ways vary or lose, or timers do: it is chance then which comes first,
    /// a ping or the date at which its receiver would ping.
    varies: Vec<bool>,
    /// By pair of networks, the smaller number first, of those between which one might have rested.
    habits: BTreeMap<[u32; 2], Known>,
    /// Finds the habit of two networks; none where nobody can.
    pub(crate) find: Option<Find>,
    /// Draws where in their rhythm ends are when they are woken.
    stream: Stream,
    keep_alive_s: Seconds,
    /// The tokens' authority, which is no phone.
    authority: Option<u32>,
    /// What they would have come to until now.
    pub(crate) counts: Reckoned,
}

/// Finds the habits of pairs with a phone on each of two networks, if they have any: of those whose
/// ends ask at once when they fall silent, and in turn.
pub(crate) type Find = Box<dyn Fn([u32; 2]) -> Option<[Habit; 2]>>;

/// What becomes of a conversation that may rest.
pub(crate) enum Mode {
    /// Nothing: somebody looks at each datagram or its date.
    Off,
    /// It rests.
    Rest,
    /// Nothing but that it is noted by phone, of every second pair made to ask in turn.
    Note(Vec<Silence>),
}

/// When the first conversation of a phone might have rested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence {
    /// Infinite for never.
    pub(crate) date_s: Seconds,
    /// Whether its ends asked in turn, and not both at once.
    pub(crate) in_turn: bool,
}

/// What is known of a pair of networks.
enum Known {
    /// How often one of its conversations might have rested.
    Nothing(u32),
    Habits([Habit; 2]),
    /// Its connections do not last.
    Never,
}

impl Upkeeps {
    /// Nothing yet.
    pub(crate) fn new(plan: &Plan) -> Self {
        let is_watched = plan.transport.options.keep_alive_events
            || plan.fidelity != "hybrid"
            || plan.energy.is_some()
            || plan.battery.is_some()
            || plan.access.iter().any(|network| network.states.is_some())
            || plan.trace.mode == "work"
            || !plan.outages.is_empty()
            || plan.nats.is_some()
            || plan.moves.is_some()
            || !plan.proximity.time_s.is_empty();
        let ticks = plan.transport.options.timer_tick_s > 0.0;
        let varies: Vec<bool> = plan.access.iter().map(|one| ticks || varies(one)).collect();
        let needs_networks = !is_watched && varies.contains(&true);
        let access = &plan.phones.access;
        Self {
            mode: if is_watched { Mode::Off } else { Mode::Rest },
            networks: access[..access.len() * usize::from(needs_networks)].to_vec(),
            habits: BTreeMap::new(),
            varies,
            find: None,
            stream: Stream::new(plan.seed, "rest", 0),
            keep_alive_s: plan.transport.options.keep_alive_s,
            authority: plan.phones.authority(),
            counts: Reckoned::default(),
        }
    }

    /// How two phones, whose rhythms these are, would go on; none if nobody can tell yet.
    pub(crate) fn paces(
        &mut self,
        now: Seconds,
        phones: [u32; 2],
        [one, other]: [Rhythm; 2],
    ) -> Option<[Pace; 2]> {
        let networks = self.networks_of(phones);
        let varies = networks.map(|network| self.varies.get(network as usize) == Some(&true));
        if varies == [false; 2] {
            return Some([Pace::Kept(other), Pace::Kept(one)]);
        }
        if !self.knows(networks) {
            return None;
        }
        let in_turn = self.in_turn([one, other]);
        // The last packet, an answer, left one end and came to the other at nearly the same time.
        let left_s = self.stream.uniform() * self.keep_alive_s;
        let varied = |other| Pace::Varied {
            other,
            since_s: now,
            left_s,
            in_turn,
        };
        Some([varied(other), varied(one)])
    }

    /// One end of a conversation would have done this; with what operations cost there and at the
    /// other end.
    pub(crate) fn add(&mut self, upkeep: &Upkeep, phones: [u32; 2], costs: [&CostTable; 2]) {
        for &(bytes, count) in &upkeep.sent {
            let count = count as f64;
            self.count(phones, bytes, count, count);
            self.operate(phones[0], (upkeep.sending, costs[0]), bytes, count);
            self.operate(phones[1], (upkeep.receiving, costs[1]), bytes, count);
        }
        if upkeep.varied_s > 0.0 {
            self.add_varied(upkeep, phones, costs);
        }
    }

    fn add_varied(&mut self, upkeep: &Upkeep, phones: [u32; 2], costs: [&CostTable; 2]) {
        let networks = self.networks_of(phones);
        // Within one network either side may be either end.
        let side = usize::from((networks[0], phones[0]) > (networks[1], phones[1]));
        let Some(Known::Habits(habits)) = self.habits.get(&in_order(networks)) else {
            return;
        };
        let habit = &habits[usize::from(upkeep.in_turn)];
        let ratio = habit.delivered_ratio[side];
        let sent: Vec<_> = habit.sent(side, upkeep.varied_s).collect();
        for (bytes, count) in sent {
            self.count(phones, bytes, count, count * ratio);
            self.operate(phones[0], (upkeep.sending, costs[0]), bytes, count);
            self.operate(
                phones[1],
                (upkeep.receiving, costs[1]),
                bytes,
                count * ratio,
            );
        }
    }

    /// Whether the ends ask in turn, about once in the time after which either would, or both at once.
    pub(crate) fn in_turn(&self, [one, other]: [Rhythm; 2]) -> bool {
        (one.asked_s - other.asked_s).abs() > 0.5 * self.keep_alive_s
    }

    /// The pace at which an end, which has just heard of the other, asks after `left_s`.
    pub(crate) fn pace(&self, now: Seconds, left: f64) -> Pace {
        let other = Rhythm {
            asked_s: now,
            asks_s: now,
            probes_s: now,
        };
        Pace::Varied {
            other,
            since_s: now,
            left_s: left * self.keep_alive_s,
            in_turn: true,
        }
    }

    /// Whether the habits of two networks are known, or worth finding out now.
    fn knows(&mut self, networks: [u32; 2]) -> bool {
        let networks = in_order(networks);
        let known = self.habits.entry(networks).or_insert(Known::Nothing(0));
        if let Known::Nothing(chances) = known {
            *chances += 1;
            if *chances < CHANCES {
                return false;
            }
            let found = self.find.as_ref().and_then(|find| find(networks));
            *known = found.map_or(Known::Never, Known::Habits);
        }
        matches!(known, Known::Habits(_))
    }

    fn networks_of(&self, phones: [u32; 2]) -> [u32; 2] {
        phones.map(|phone| self.networks.get(phone as usize).copied().unwrap_or(NONE))
    }

    fn count(&mut self, phones: [u32; 2], bytes: u32, sent: f64, delivered: f64) {
        let wire_bytes = f64::from(wire_bytes(bytes));
        self.counts.sent += sent;
        self.counts.delivered += delivered;
        self.counts.bytes += sent * wire_bytes;
        for (phone, datagrams) in phones.into_iter().zip([sent, delivered]) {
            if self.authority != Some(phone) {
                self.counts.phone_bytes += datagrams * wire_bytes;
            }
        }
    }

    fn operate(
        &mut self,
        phone: u32,
        (operations, costs): (&[Operation], &CostTable),
        bytes: u32,
        count: f64,
    ) {
        for &operation in operations {
            let cpu_s = count * costs.mean(operation, bytes).cpu_s;
            self.counts.cpu_s[operation as usize] += cpu_s;
            if self.authority != Some(phone) {
                self.counts.phone_cpu_s += cpu_s;
            }
        }
    }
}

fn in_order([one, other]: [u32; 2]) -> [u32; 2] {
    [one.min(other), one.max(other)]
}

fn varies(access: &Access) -> bool {
    access.jitter_median_s > 0.0
        || access.loss_ratio > 0.0
        || access.bursts.is_some()
        || access.wifi.is_some()
        || access.forwarding_cpu_s > 0.0
        || [&access.up_rate, &access.down_rate]
            .iter()
            .any(|rate| rate.is_some())
        || [access.handover, access.rat_change]
            .iter()
            .any(Option::is_some)
}

/// To find a habit takes as long as some 50 000 of these (24 pairs, 1023 questions of either end).
/// Sooner, since a habit is that of a young silence.
const CHANCES: u32 = 20_000;

/// Stands for the network of a phone where none varies.
const NONE: u32 = u32::MAX;
