//! Access points of IEEE 802.11, whose phones contend for the air.
//!
//! A datagram between two phones of one access point crosses its air twice. What deliberately does
//! not live here: access points whose air is a plain capacity
//! ([`crate::resources::shared_medium`]), and losses beside those of collisions, which are the
//! driver's.

mod cell;
mod frame_queue;
mod outcome;
pub mod phy;

use std::collections::VecDeque;

use pocketsim_protocols::contract::Seconds;

use crate::base::rng::Stream;
use crate::plan::Plan;
use crate::resources::attachments::Attachments;
use crate::resources::queue_delay::QueueDelays;
use crate::resources::radio::Direction;
use crate::resources::shared_medium::SiteLook;
use crate::resources::wifi::cell::{Air, Cell};
use crate::resources::wifi::outcome::Outcome;
use crate::resources::wifi::phy::Phy;
use crate::resources::Happening;

/// All access points of a run.
#[derive(Debug)]
pub struct Wifi {
    cells: Vec<Cell>,
    /// By access network; none of another kind.
    airs: Vec<Option<Air>>,
    /// By cell, its access network.
    networks: Vec<u32>,
    /// By attachment.
    places: Vec<Place>,
    /// By cell, the number of its site.
    sites: Vec<u32>,
    /// By site; [`NOWHERE`] of another kind.
    cell_of_site: Vec<u32>,
    /// What came of the last frame, until it is told.
    outcome: Outcome,
}

/// The cell of an attachment, [`NOWHERE`] without one, and its number there.
#[derive(Clone, Copy, Debug)]
struct Place {
    cell: u32,
    phone: u32,
}

impl Wifi {
    /// The idle access points of a plan; none where it has none of 802.11.
    pub fn new(plan: &Plan) -> Option<Box<Self>> {
        if plan.access.iter().all(|access| access.wifi.is_none()) {
            return None;
        }
        let air = |wifi: &crate::plan::Wifi| Air {
            phy: Phy::new(wifi),
            block_ack_request: wifi.block_ack_request,
            queue_packets: wifi.queue_packets,
        };
        let airs: Vec<Option<Air>> = plan
            .access
            .iter()
            .map(|it| it.wifi.as_ref().map(air))
            .collect();
        let attachments = Attachments::new(plan);
        let (sites, capacities) = attachments.airs(plan);
        let mut this = Self {
            cells: Vec::new(),
            airs,
            networks: Vec::new(),
            places: Vec::new(),
            sites: Vec::new(),
            cell_of_site: vec![NOWHERE; capacities.len()],
            outcome: Outcome::default(),
        };
        let networks = sites.iter().zip(&attachments.access);
        for (number, (&site, &network)) in networks.enumerate() {
            let place = match this.airs[network as usize] {
                None => Place {
                    cell: NOWHERE,
                    phone: NOWHERE,
                },
                Some(air) => {
                    let cell = this.cell_at(plan.seed, site, network);
                    let rate = air.phy.rate(attachments.mcs[number]);
                    let phone = this.cells[cell as usize].add(rate);
                    Place { cell, phone }
                }
            };
            this.places.push(place);
        }
        Some(Box::new(this))
    }

    /// Whether an attachment is to one of these access points.
    pub fn has(&self, attachment: u32) -> bool {
        self.places[attachment as usize].cell != NOWHERE
    }

    /// Whether there is room for a datagram.
    pub fn has_room(&self, attachment: u32, direction: Direction, wire_bytes: u32) -> bool {
        let place = self.places[attachment as usize];
        let packets = frame_queue::packets(wire_bytes);
        let cell = &self.cells[place.cell as usize];
        cell.has_room(self.air(place.cell), place.phone, direction, packets)
    }

    /// Gives a datagram to a queue: whether there was room, and when to look at its cell again.
    pub fn push(
        &mut self,
        (attachment, direction): (u32, Direction),
        now: Seconds,
        (token, wire_bytes): (u32, u32),
        waits: &mut QueueDelays,
    ) -> (bool, Option<SiteLook>) {
        if !self.has_room(attachment, direction, wire_bytes) {
            return (false, None);
        }
        let place = self.places[attachment as usize];
        let air = *self.air(place.cell);
        let cell = &mut self.cells[place.cell as usize];
        let queue = (place.phone, direction);
        let next_s = cell.push(&air, queue, now, (token, wire_bytes), waits);
        (true, self.look_at(place.cell, next_s))
    }

    /// Looks at the cell of a site, as was asked for; what happened there is told to `happened`. When
    /// to look again.
    pub fn look(
        &mut self,
        site: u32,
        now: Seconds,
        waits: &mut QueueDelays,
        happened: &mut VecDeque<Happening>,
    ) -> Option<SiteLook> {
        let cell = self.cell_of_site[site as usize];
        let air = *self.air(cell);
        let outcome = &mut self.outcome;
        let next_s = self.cells[cell as usize].look(&air, now, waits, outcome);
        let over = outcome
            .over
            .drain(..)
            .map(|token| Happening::Hop(token, true));
        happened.extend(over);
        happened.extend(outcome.lost.drain(..).map(Happening::Lost));
        self.look_at(cell, next_s)
    }

    /// Whether a site has one of these access points.
    pub fn is_at(&self, site: u32) -> bool {
        self.cell_of_site[site as usize] != NOWHERE
    }

    /// A phone goes off or leaves: the datagrams that were from it and for it.
    pub fn clear(&mut self, attachment: u32) -> Vec<u32> {
        let place = self.places[attachment as usize];
        match place.cell {
            NOWHERE => vec![],
            cell => self.cells[cell as usize].clear(place.phone),
        }
    }

    /// What waits at the end of a run has waited until then.
    pub fn end_waits(&self, now: Seconds, waits: &mut QueueDelays) {
        self.cells
            .iter()
            .for_each(|cell| cell.end_waits(now, waits));
    }

    /// The cell of a site, made at its first phone.
    fn cell_at(&mut self, seed: u64, site: u32, network: u32) -> u32 {
        let found = self.cell_of_site[site as usize];
        if found != NOWHERE {
            return found;
        }
        let cell = self.cells.len() as u32;
        self.cells
            .push(Cell::new(Stream::new(seed, "wifi/backoff", site)));
        self.networks.push(network);
        self.sites.push(site);
        self.cell_of_site[site as usize] = cell;
        cell
    }

    fn air(&self, cell: u32) -> &Air {
        let network = self.networks[cell as usize];
        let air = self.airs[network as usize].as_ref();
        air.expect("a cell is of a network of 802.11")
    }

    fn look_at(&self, cell: u32, date_s: Option<Seconds>) -> Option<SiteLook> {
        let site = self.sites[cell as usize];
        date_s.map(|date_s| SiteLook { site, date_s })
    }
}

const NOWHERE: u32 = u32::MAX;
