//! Random histories of payments: with lost, doubled and late messages money is conserved, who is
//! honest is never named, and without cheats each side says the same of each payment.

use super::town::*;
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::payment::*;
use pocketsim_protocols::token::{Handshake, Rules};
use proptest::prelude::*;

fn any_town(setting: Setting, owners: u32, steps: usize) -> Town<Counted> {
    let mut town = Town::<Counted>::new(owners, setting);
    town.run_until(20.0);
    for _ in 0..steps {
        let from = town.chance.below(owners as usize) as u32;
        let to = town.chance.below(owners as usize) as u32;
        let amount_cents = 1 + town.chance.below(4_000) as u32;
        // Only node 1 cheats.
        let conduct = match (from, town.chance.below(3)) {
            _ if !setting.cheats => Conduct::Honest,
            (1, 0) => Conduct::DoubleSpend,
            (1, 1) => Conduct::Replay,
            _ => Conduct::Honest,
        };
        town.pay(from, to, amount_cents, conduct);
        let pause_s = [0.01, 1.0, 30.0, 700.0][town.chance.below(4)];
        town.run_for(pause_s);
        town.online = town.chance.below(4) > 0;
        town.audit();
    }
    // Everything is repeated until it is answered.
    town.online = true;
    town.setting.lose_per_mille = 0;
    town.run_for(20_000.0);
    town
}

/// Networks that lose and double, and either way to accept a payment.
fn settings() -> impl Strategy<Value = Setting> {
    let drawn = (0..400usize, 0..300usize, any::<bool>(), any::<u64>());
    drawn.prop_map(
        |(lose_per_mille, double_per_mille, is_online, seed)| Setting {
            lose_per_mille,
            double_per_mille,
            acceptance: if is_online {
                Acceptance::Online
            } else {
                Acceptance::Offline
            },
            seed: seed >> 40,
            ..CALM
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn without_cheats_nobody_is_accused_with_or_without_the_handshake(
        setting in settings(),
        is_challenging: bool,
        owners in 3..8u32,
    ) {
        let handshake = if is_challenging { Handshake::Challenge } else { Handshake::None };
        let setting = Setting { handshake, cheats: false, ..setting };
        let town = any_town(setting, owners, 60);
        let audit = town.audit();
        prop_assert_eq!((audit.accused, audit.lost_cents, audit.undetected_serials), (0, 0, 0));
        prop_assert_eq!(audit.held_cents, audit.circulating_cents);
        prop_assert_eq!(town.messages(EventKind::Store), town.messages(EventKind::StorePeer));
        // Without the handshake a payment that comes twice looks like a replay.
        prop_assert!(!is_challenging || town.count(EventKind::Refuse) == 0);
    }

    #[test]
    fn the_prototype_loses_what_its_answers_lose_and_no_more(
        lose_per_mille in 0..300usize,
        owners in 3..6u32,
        seed: u64,
    ) {
        let (handshake, rules) = (Handshake::None, Rules::Prototype);
        let setting = Setting { handshake, rules, lose_per_mille, cheats: false, seed: seed >> 40, ..CALM };
        let audit = any_town(setting, owners, 40).audit();
        prop_assert_eq!(audit.held_cents + audit.vanished_cents, audit.circulating_cents);
        prop_assert!(lose_per_mille > 0 || audit.vanished_cents == 0);
    }

    /// Replays then have honest owners spend twice, and late answers settle what they are not for.
    #[test]
    fn without_the_handshake_what_nobody_holds_is_counted_as_vanished(
        setting in settings(),
        owners in 3..8u32,
    ) {
        let setting = Setting { handshake: Handshake::None, ..setting };
        let audit = any_town(setting, owners, 60).audit();
        prop_assert_eq!(audit.pending_cents, 0, "all was answered");
        prop_assert!(audit.held_cents + audit.vanished_cents >= audit.circulating_cents);
    }

    #[test]
    fn whatever_is_lost_or_doubled_money_is_conserved(
        setting in settings(),
        owners in 3..8u32,
    ) {
        let town = any_town(setting, owners, 60);
        let audit = town.audit();
        prop_assert_eq!(audit.wrongly_accused, 0);
        prop_assert_eq!(audit.pending_cents, 0, "all was answered");
        let named = town.events.iter().filter(|(_, _, event)| event.kind == EventKind::Accuse);
        prop_assert!(named.clone().all(|(_, _, event)| event.peer == NodeId(1)));
        // Both sides say the same of each payment.
        let (stored, peers) = (town.messages(EventKind::Store), town.messages(EventKind::StorePeer));
        prop_assert!(stored.is_subset(&peers));
        let lost = town.messages(EventKind::Lose);
        prop_assert!(stored.is_disjoint(&lost));
    }
}
