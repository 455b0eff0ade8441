//! How long frames of IEEE 802.11n and 802.11ac are on the air.
//!
//! Sources: IEEE Std 802.11-2020, 10.3 (interframe spaces), 10.23.2 (EDCA), 9.3.1 (control frames),
//! 19.4 and 21.4 (HT and VHT: durations and rates). ns-3 3.44 uses the same numbers
//! (`wifi-phy.cc`, `ht-phy.cc`, `wifi-mac.cc`) and likewise leaves VHT-SIG-B out, 4 us of each
//! frame. 802.11n is that at 2.4 GHz, 802.11ac at 5 GHz, with long guard intervals. What
//! deliberately does not live here: whose turn it is ([`super::cell`]).

use pocketsim_protocols::contract::Seconds;

use crate::plan::Wifi;

/// Timing of one kind of access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phy {
    /// A slot of the back-off, seconds.
    pub slot_s: Seconds,
    /// Short interframe space, seconds.
    pub sifs_s: Seconds,
    /// What the air is idle before the back-off counts: AIFS of best effort, seconds.
    pub aifs_s: Seconds,
    /// How many slots EIFS is longer, of those who could not read a frame.
    pub eifs_slots: u64,
    /// How many slots later than AIFS a sender counts whose answer is overdue.
    pub overdue_slots: u64,
    /// How long a beacon is on the air, seconds.
    pub beacon_s: Seconds,
    /// Follows each OFDM frame, seconds.
    extension_s: Seconds,
    preamble_s: Seconds,
    /// Of one stream at all, by the modulation: bits of data in a symbol of 4 us.
    data_subcarriers: f64,
    streams: f64,
    /// Every data frame is an A-MPDU, of one packet at least (VHT).
    always_aggregated: bool,
    /// Packets that one A-MPDU may have; 1 for none.
    packets_max: u32,
}

/// What a modulation and coding scheme makes of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Bits of data in a symbol.
    bits_per_symbol: f64,
    /// The same of the acknowledgement, which has a rate of the basic set.
    control_bits_per_symbol: f64,
}

impl Phy {
    /// That of an access network.
    ///
    /// # Panics
    /// When there is no such channel, which the plan's maker should have refused.
    pub fn new(wifi: &Wifi) -> Self {
        let is_vht = wifi.standard == "802.11ac";
        let sifs_s = if is_vht { 16.0 * US } else { 10.0 * US };
        let extension_s = if is_vht { 0.0 } else { 6.0 * US };
        let aifs_s = sifs_s + AIFSN * SLOT_S;
        let lowest_s = legacy_s(ACK_BYTES, CONTROL_BITS[0]) + extension_s;
        let slots = |seconds: Seconds| (seconds / SLOT_S).round() as u64;
        Self {
            slot_s: SLOT_S,
            sifs_s,
            aifs_s,
            // EIFS is SIFS, the lowest rate's acknowledgement and AIFS, and an answer is overdue after
            // SIFS, a slot and the time to notice a frame; AIFS less SIFS follows.
            eifs_slots: slots(sifs_s + lowest_s),
            overdue_slots: slots(SLOT_S + LEGACY_PREAMBLE_S),
            beacon_s: if is_vht {
                legacy_s(BEACON_BYTES, CONTROL_BITS[0])
            } else {
                DSSS_PREAMBLE_S + BEACON_BYTES * DSSS_BYTE_S
            },
            extension_s,
            preamble_s: PREAMBLE_S + LTF_S * f64::from(wifi.streams - 1),
            data_subcarriers: match wifi.channel_width_mhz {
                20 => 52.0,
                40 => 108.0,
                80 => 234.0,
                other => panic!("a channel of {other} MHz"),
            },
            streams: f64::from(wifi.streams),
            always_aggregated: is_vht,
            packets_max: if wifi.aggregation {
                BLOCK_ACK_WINDOW
            } else {
                1
            },
        }
    }

    /// What modulation and coding scheme `mcs` carries, 0 to 9 (tables 19-27 and 21-29).
    ///
    /// Acknowledgements have the highest mandatory rate whose modulation is no denser (10.6.6.5.2).
    pub fn rate(&self, mcs: u32) -> Rate {
        let (bits, coding) = MODULATIONS[mcs as usize];
        Rate {
            bits_per_symbol: (self.data_subcarriers * bits * coding * self.streams).floor(),
            control_bits_per_symbol: match mcs {
                0 => CONTROL_BITS[0],
                1 | 2 => CONTROL_BITS[1],
                _ => CONTROL_BITS[2],
            },
        }
    }

    /// How many of these packets, the first first, one frame takes: one at least.
    ///
    /// An A-MPDU ends with the window of the block acknowledgement, 65 535 bytes, or 5484 us.
    pub fn fitting(&self, rate: Rate, packets_bytes: impl Iterator<Item = u32>) -> u32 {
        let (mut count, mut bytes) = (0, 0.0);
        for packet in packets_bytes.take(self.packets_max as usize) {
            bytes += subframe_bytes(packet);
            if count > 0 && (bytes > AMPDU_BYTES || self.symbols_s(rate, bytes) > PPDU_S) {
                break;
            }
            count += 1;
        }
        count.max(1)
    }

    /// How long a frame with the first `count` of these packets, IP headers and all, is on the air.
    pub fn data_s(
        &self,
        rate: Rate,
        count: u32,
        packets_bytes: impl Iterator<Item = u32>,
    ) -> Seconds {
        let sent = packets_bytes.take(count as usize);
        let bytes: f64 = if self.always_aggregated || count > 1 {
            sent.map(subframe_bytes).sum()
        } else {
            sent.map(mpdu_bytes).sum()
        };
        self.symbols_s(rate, bytes) + self.extension_s
    }

    /// How many of these packets of an aggregate begin in its first `overlap_s`.
    pub fn packets_within(
        &self,
        rate: Rate,
        overlap_s: Seconds,
        packets_bytes: impl Iterator<Item = u32>,
    ) -> u32 {
        let overlap_bytes = (overlap_s - self.preamble_s) * self.bytes_per_s(rate);
        let mut bytes = 0.0;
        let begins = packets_bytes.take_while(|&packet| {
            let begins_at = bytes;
            bytes += subframe_bytes(packet);
            begins_at < overlap_bytes
        });
        begins.count() as u32
    }

    /// What answers it, with the space before it.
    pub fn answer_s(&self, rate: Rate, packets: u32) -> Seconds {
        let bytes = match self.is_block(packets) {
            true => BLOCK_ACK_BYTES,
            false => ACK_BYTES,
        };
        self.sifs_s + self.control_s(rate, bytes)
    }

    /// How long a request for a block acknowledgement is on the air.
    pub fn request_s(&self, rate: Rate) -> Seconds {
        self.control_s(rate, BLOCK_ACK_REQUEST_BYTES)
    }

    /// What answers that, with the space before it.
    pub fn block_ack_s(&self, rate: Rate) -> Seconds {
        self.sifs_s + self.control_s(rate, BLOCK_ACK_BYTES)
    }

    /// Bytes of data a second while a frame is sent.
    pub fn bytes_per_s(&self, rate: Rate) -> f64 {
        rate.bits_per_symbol / 8.0 / SYMBOL_S
    }

    /// Whether a frame of so many packets is answered by a block acknowledgement.
    pub fn is_block(&self, packets: u32) -> bool {
        self.packets_max > 1 && packets > 1
    }

    fn symbols_s(&self, rate: Rate, bytes: f64) -> Seconds {
        let bits = SERVICE_BITS + 8.0 * bytes + TAIL_BITS;
        self.preamble_s + SYMBOL_S * (bits / rate.bits_per_symbol).ceil()
    }

    fn control_s(&self, rate: Rate, bytes: f64) -> Seconds {
        legacy_s(bytes, rate.control_bits_per_symbol) + self.extension_s
    }
}

/// A frame without HT or VHT, such as control frames (17.4.3).
fn legacy_s(bytes: f64, bits_per_symbol: f64) -> Seconds {
    let bits = SERVICE_BITS + 8.0 * bytes + TAIL_BITS;
    LEGACY_PREAMBLE_S + SYMBOL_S * (bits / bits_per_symbol).ceil()
}

/// A packet in its frame: LLC, header with QoS, checksum.
fn mpdu_bytes(packet_bytes: u32) -> f64 {
    f64::from(packet_bytes) + 8.0 + 26.0 + 4.0
}

/// The same in an A-MPDU: a delimiter, and padding to four bytes.
fn subframe_bytes(packet_bytes: u32) -> f64 {
    4.0 + (mpdu_bytes(packet_bytes) / 4.0).ceil() * 4.0
}

/// The back-off is drawn from 0 to this at the first attempt, and to twice as much and one at each
/// next one, up to [`CW_MAX`] (EDCA, best effort).
pub const CW_MIN: u32 = 15;
/// The largest such number.
pub const CW_MAX: u32 = 1023;
/// A frame is given up after so many attempts beside the first.
pub const RETRIES_MAX: u32 = 7;
/// From one beacon to the next: 100 units of 1024 us.
pub const BEACON_INTERVAL_S: Seconds = 102_400.0 * US;

const US: Seconds = 1e-6;
const SLOT_S: Seconds = 9.0 * US;
const AIFSN: f64 = 3.0;
const SYMBOL_S: Seconds = 4.0 * US;
/// Legacy part, signal field, and training of one stream.
const PREAMBLE_S: Seconds = 36.0 * US;
/// Training of each further stream.
const LTF_S: Seconds = 4.0 * US;
const LEGACY_PREAMBLE_S: Seconds = 20.0 * US;
const SERVICE_BITS: f64 = 16.0;
const TAIL_BITS: f64 = 6.0;
/// Of the mandatory rates 6, 12 and 24 Mbit/s.
const CONTROL_BITS: [f64; 3] = [24.0, 48.0, 96.0];
const ACK_BYTES: f64 = 14.0;
const BLOCK_ACK_BYTES: f64 = 32.0;
const BLOCK_ACK_REQUEST_BYTES: f64 = 24.0;
/// A usual one; ns-3's rows of one sender say the same (docs/models.md).
const BEACON_BYTES: f64 = 160.0;
/// At 1 Mbit/s, as access points at 2.4 GHz send beacons.
const DSSS_PREAMBLE_S: Seconds = 192.0 * US;
const DSSS_BYTE_S: Seconds = 8.0 * US;
const BLOCK_ACK_WINDOW: u32 = 64;
const AMPDU_BYTES: f64 = 65_535.0;
const PPDU_S: Seconds = 5484.0 * US;
/// Bits of a subcarrier, and the share of them that is data, by scheme.
const MODULATIONS: [(f64, f64); 10] = [
    (1.0, 1.0 / 2.0),
    (2.0, 1.0 / 2.0),
    (2.0, 3.0 / 4.0),
    (4.0, 1.0 / 2.0),
    (4.0, 3.0 / 4.0),
    (6.0, 2.0 / 3.0),
    (6.0, 3.0 / 4.0),
    (6.0, 5.0 / 6.0),
    (8.0, 3.0 / 4.0),
    (8.0, 5.0 / 6.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn phy(standard: &str, channel_width_mhz: u32, aggregation: bool) -> Phy {
        Phy::new(&Wifi {
            standard: standard.to_owned(),
            channel_width_mhz,
            streams: 1,
            aggregation,
            block_ack_request: true,
            queue_packets: 500,
        })
    }

    fn us(seconds: Seconds) -> f64 {
        (seconds * 1e9).round() / 1e3
    }

    #[test]
    fn bits_of_a_symbol_are_those_of_the_standard() {
        let bits = |phy: Phy| {
            (0..8)
                .map(|mcs| phy.rate(mcs).bits_per_symbol)
                .collect::<Vec<_>>()
        };
        let narrow = bits(phy("802.11n", 20, false));
        assert_eq!(narrow, [26., 52., 78., 104., 156., 208., 234., 260.]);
        let wide = bits(phy("802.11ac", 80, false));
        assert_eq!(wide, [117., 234., 351., 468., 702., 936., 1053., 1170.]);
    }

    #[test]
    fn frames_are_as_long_as_in_ns_3() {
        // Release 3.44: data 130 and 56 us, acknowledgement 34 and 28 us.
        let (n, ac) = (phy("802.11n", 20, false), phy("802.11ac", 80, false));
        assert_eq!(us(n.data_s(n.rate(7), 1, [668].into_iter())), 130.0);
        assert_eq!(us(ac.data_s(ac.rate(8), 1, [668].into_iter())), 56.0);
        assert_eq!(us(n.answer_s(n.rate(7), 1) - n.sifs_s), 34.0);
        assert_eq!(us(ac.answer_s(ac.rate(8), 1) - ac.sifs_s), 28.0);
        assert_eq!([us(n.aifs_s), us(ac.aifs_s)], [37.0, 43.0]);
        assert_eq!([n.eifs_slots, ac.eifs_slots], [7, 7]); // 60 us
        assert_eq!([n.overdue_slots, ac.overdue_slots], [3, 3]); // 29 us
    }

    #[test]
    fn an_aggregate_ends_with_its_duration_or_the_window() {
        let (n, ac) = (phy("802.11n", 20, true), phy("802.11ac", 80, true));
        let many = || std::iter::repeat_n(668, 500);
        assert_eq!(n.fitting(n.rate(7), many()), 62);
        assert_eq!(ac.fitting(ac.rate(8), many()), 64);
        assert_eq!(us(n.data_s(n.rate(7), 62, many())), 5478.0);
        assert_eq!(us(ac.data_s(ac.rate(8), 64, many())), 1076.0);
        assert_eq!(phy("802.11n", 20, false).fitting(n.rate(7), many()), 1);
    }
}
