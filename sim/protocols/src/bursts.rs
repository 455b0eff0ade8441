//! Bursts of loss on a link: the chain of Gilbert and Elliott, for whoever carries datagrams.
//!
//! A link is in a burst or not, and may change between any two IP packets; it has memory of nothing
//! else (Gilbert, "Capacity of a burst-noise channel", BSTJ 39, 1960; Elliott, "Estimates of error
//! rates for codes on burst-noise channels", BSTJ 42, 1963). In tc-netem(8), `loss gemodel p r 1-h
//! 1-k`: p is [`Bursts::enter_ratio`], r is [`Bursts::leave_ratio`], 1-h is `loss_ratio` in bursts,
//! and 1-k is the loss ratio beside them, which its owner draws.
//!
//! With share s, mean length L, loss ratio b in bursts and g outside:
//!
//! | | |
//! |---|---|
//! | mean loss ratio m | s b + (1 - s) g |
//! | autocorrelation of losses k packets apart | (1 - 1 / (L (1 - s)))^k s (1 - s) (b - g)^2 / (m (1 - m)) |
//! | probability of k losses in a row or more, after one; b = 1, g = 0 | (1 - 1 / L)^(k - 1) |
//!
//! The simulator's access networks and the probe's relay share it, so that the same words mean the
//! same. What deliberately does not live here: chance, which callers bring from their own streams.
//! No machine knows of it.

use serde::Serialize;

/// How losses of a link cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bursts {
    /// Share of all packets that meet a burst, in [0, 1).
    pub share: f64,
    /// Mean length of a burst in packets, lost or not.
    pub mean_packets: f64,
    /// Probability that a packet in a burst is lost.
    pub loss_ratio: f64,
}

impl Bursts {
    /// Why these bursts cannot be, if so.
    ///
    /// # Errors
    /// The first number that is out of its range, with its name, for people.
    pub fn check(&self) -> Result<(), String> {
        let Self {
            share,
            mean_packets,
            loss_ratio,
        } = *self;
        if !(0.0..1.0).contains(&share) {
            return Err(format!("share {share} is not from 0 to below 1"));
        }
        if !(0.0..=1.0).contains(&loss_ratio) {
            return Err(format!("loss_ratio {loss_ratio} is not between 0 and 1"));
        }
        let least = 1.0 / (1.0 - share);
        if mean_packets >= least * (1.0 - ROUNDING) && mean_packets <= MEAN_PACKETS_MAX {
            return Ok(());
        }
        let least = (least * 1e7).round() / 1e7; // what is said here can be
        Err(format!(
            "mean_packets {mean_packets} is not between {least}, as long as runs of chance are \
             with a share of {share}, and {MEAN_PACKETS_MAX}"
        ))
    }

    /// Probability that a burst begins with the next packet outside one.
    pub fn enter_ratio(&self) -> f64 {
        self.share / (self.mean_packets * (1.0 - self.share))
    }

    /// Probability that a burst has ended before the next packet.
    pub fn leave_ratio(&self) -> f64 {
        1.0 / self.mean_packets
    }
}

/// A link with bursts, from its stationary state on.
#[derive(Clone, Debug)]
pub struct Chain {
    bursts: Bursts,
    /// Whether the last packet met a burst; none before the first.
    inside: Option<bool>,
}

/// What bursts did to the packets of one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Packets that met no burst, which the link may lose by itself.
    pub outside_packets: u32,
    /// Whether a burst took one of the others, and the datagram with it.
    pub lost: bool,
}

impl Chain {
    /// A link that has carried nothing yet.
    pub fn new(bursts: Bursts) -> Self {
        Self {
            bursts,
            inside: None,
        }
    }

    /// From now on its bursts are so long: where they last for a time, and packets come irregularly.
    pub fn set_mean_packets(&mut self, mean_packets: f64) {
        self.bursts.mean_packets = mean_packets;
    }

    /// Carries the packets of one datagram; `uniform` draws from [0, 1), twice for each of them.
    pub fn carry(&mut self, packets: u32, mut uniform: impl FnMut() -> f64) -> Crossing {
        let mut crossing = Crossing {
            outside_packets: 0,
            lost: false,
        };
        for _ in 0..packets {
            // Both, whatever happens: another loss ratio must not move the bursts.
            let (moves, loses) = (uniform(), uniform());
            if self.step(moves) {
                crossing.lost |= loses < self.bursts.loss_ratio;
            } else {
                crossing.outside_packets += 1;
            }
        }
        crossing
    }

    /// Whether the next packet meets a burst.
    fn step(&mut self, chance: f64) -> bool {
        let inside_ratio = match self.inside {
            None => self.bursts.share,
            Some(true) => 1.0 - self.bursts.leave_ratio(),
            Some(false) => self.bursts.enter_ratio(),
        };
        let inside = chance < inside_ratio;
        self.inside = Some(inside);
        inside
    }
}

impl Crossing {
    /// Without any burst on the way.
    pub fn outside(packets: u32) -> Self {
        Self {
            outside_packets: packets,
            lost: false,
        }
    }
}

/// Of 1 / (1 - share), which people write in decimals.
const ROUNDING: f64 = 1e-6;
/// Longer than any run here has packets for.
const MEAN_PACKETS_MAX: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(share: f64, mean_packets: f64, loss_ratio: f64) -> Bursts {
        Bursts {
            share,
            mean_packets,
            loss_ratio,
        }
    }

    /// Whether each of `chances` was met by a burst.
    fn states(chain: &mut Chain, chances: &[f64]) -> Vec<bool> {
        chances.iter().map(|&chance| chain.step(chance)).collect()
    }

    #[test]
    fn what_can_and_cannot_be_is_the_same_for_everybody() {
        let vectors = include_str!("../../../tests/vectors/bursts.json");
        let vectors: serde_json::Value = serde_json::from_str(vectors).expect("JSON");
        let number = |row: &serde_json::Value, key: &str| row[key].as_f64().expect("a number");
        let given = |row: &serde_json::Value| {
            let [share, mean, loss] =
                ["share", "mean_packets", "loss_ratio"].map(|key| number(row, key));
            bursts(share, mean, loss)
        };
        for row in vectors["chains"].as_array().expect("chains") {
            let given = given(&row["bursts"]);
            assert_eq!(given.check(), Ok(()), "{row}");
            let kept = 1.0 - given.enter_ratio() - given.leave_ratio();
            let decay = number(row, "decay_ratio");
            assert!((kept - decay).abs() < 1e-12, "{row}");
        }
        for row in vectors["refused"].as_array().expect("refused") {
            let reason = given(&row["bursts"]).check().expect_err("impossible");
            let wrong = row["wrong"].as_str().expect("a name");
            assert!(reason.starts_with(wrong), "{row}: {reason}");
        }
    }

    #[test]
    fn the_least_that_is_said_can_be() {
        for (share, least) in [
            (0.02, 1.0204082),
            (0.2, 1.25),
            (0.3, 1.4285714),
            (0.9, 10.0),
        ] {
            assert_eq!(bursts(share, least, 1.0).check(), Ok(()));
            let reason = bursts(share, 1.0, 1.0).check().expect_err("too short");
            assert!(reason.contains(&format!("between {least}, ")), "{reason}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert!(bursts(f64::NAN, 8.0, 1.0).check().is_err());
        assert!(bursts(0.1, f64::NAN, 1.0).check().is_err());
        assert!(bursts(0.1, f64::INFINITY, 1.0).check().is_err());
        assert!(bursts(0.1, 8.0, f64::NAN).check().is_err());
    }

    #[test]
    fn it_begins_as_it_goes_on() {
        // Enters with probability 0.25 / (4 * 0.75), leaves with 0.25.
        let chain = Chain::new(bursts(0.25, 4.0, 1.0));
        let below = |chance: f64| chance - 1e-9;
        assert_eq!(states(&mut chain.clone(), &[below(0.25)]), [true]);
        assert_eq!(states(&mut chain.clone(), &[0.25]), [false]);
        let enter = 0.25 / 3.0;
        let chances = [0.9, below(enter), below(0.75), 0.75, enter + 1e-9];
        let expected = [false, true, true, false, false];
        assert_eq!(states(&mut chain.clone(), &chances), expected);
    }

    #[test]
    fn a_datagram_is_lost_with_any_packet_that_a_burst_takes() {
        let mut chain = Chain::new(bursts(0.5, 4.0, 0.5));
        let mut draws = [0.9, 0.0, 0.0, 0.7, 0.0, 0.4, 0.9, 0.0].into_iter();
        let crossing = chain.carry(4, || draws.next().expect("two for each packet"));
        // Outside, kept in a burst, lost in it, outside again.
        assert_eq!(crossing.outside_packets, 2);
        assert!(crossing.lost);
        assert_eq!(draws.next(), None);
    }

    #[test]
    fn without_a_share_nothing_is_ever_in_a_burst() {
        let mut chain = Chain::new(bursts(0.0, 1.0, 1.0));
        assert_eq!(chain.carry(1000, || 0.0), Crossing::outside(1000));
    }
}
