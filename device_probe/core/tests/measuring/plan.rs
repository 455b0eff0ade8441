//! The steps of a run and the time that each may take.

use pocketsim_probe_core::kernel::{Case, Depth, Group};
use pocketsim_probe_core::report::{Core, CoreClass};
use pocketsim_probe_core::run::plan::{ladder, matches, schedule, steps};
use pocketsim_probe_core::run::Options;
use proptest::prelude::*;

use super::fakes::{repeated, work};

fn options(depth: Depth) -> Options {
    Options::new(depth, "unused")
}

fn steady_case(kernel: &'static str) -> Case {
    repeated(kernel, Group::Crypto, || {
        work(1e-4);
        Ok(())
    })
}

#[test]
fn a_link_has_the_time_that_its_trains_take() {
    for depth in [Depth::Quick, Depth::Full] {
        let schedule = schedule(depth, &[]);
        assert!(schedule.experiment_s(Group::Quic) < 2.0);
        assert!((10.0..=20.0).contains(&schedule.experiment_s(Group::Link)));
    }
}

#[test]
fn what_scales_runs_on_more_threads_and_on_each_class() {
    let core = |number, core_class| Core {
        number,
        core_class,
        frequency_min_hz: None,
        frequency_max_hz: None,
        governor: None,
    };
    let cores = [
        core(0, CoreClass::Little),
        core(1, CoreClass::Little),
        core(2, CoreClass::Big),
    ];
    let scaling = Case {
        scales: true,
        ..steady_case("ed25519_sign")
    };
    let variants = |depth| {
        let steps = steps(
            &options(depth),
            vec![scaling.clone(), steady_case("b")],
            &cores,
            3,
        )
        .unwrap();
        steps
            .into_iter()
            .map(|step| (step.threads, step.cores))
            .collect::<Vec<_>>()
    };
    let big = Some((CoreClass::Big, vec![2]));
    let little = Some((CoreClass::Little, vec![0, 1]));
    assert_eq!(
        variants(Depth::Full),
        [
            (1, None),
            (2, None),
            (3, None),
            (1, big),
            (1, little),
            (1, None)
        ]
    );
    assert_eq!(variants(Depth::Quick), [(1, None), (3, None), (1, None)]);
}

#[test]
fn a_quick_run_has_several_threads_only_to_count_cores() {
    let scaling = Case {
        scales: true,
        ..steady_case("sha256")
    };
    let steps_of = |depth| steps(&options(depth), vec![scaling.clone()], &[], 2).unwrap();
    assert_eq!(steps_of(Depth::Quick).len(), 1);
    assert_eq!(steps_of(Depth::Full).len(), 2);
}

proptest! {
    #[test]
    fn ladders_rise_from_one_to_all(threads in 1_usize..64) {
        let ladder = ladder(threads);
        prop_assert_eq!(ladder[0], 1);
        prop_assert_eq!(*ladder.last().unwrap(), threads);
        prop_assert!(ladder.windows(2).all(|pair| pair[0] < pair[1] && pair[1] <= 2 * pair[0]));
    }

    #[test]
    fn patterns_describe_themselves(name in "[a-z_0-9]{0,12}", cut in 0_usize..12) {
        prop_assert!(matches(&name, &name));
        let cut = cut.min(name.len());
        let pattern = format!("{}*", &name[..cut]);
        prop_assert!(matches(&pattern, &name));
        let longer = format!("{name}?");
        prop_assert!(!matches(&longer, &name));
    }

    #[test]
    fn schedules_stay_within_their_time(cases in 1_usize..600, is_full in any::<bool>()) {
        let (depth, limit_s) = if is_full { (Depth::Full, 200.0) } else { (Depth::Quick, 30.0) };
        let steps = steps(&options(depth), vec![steady_case("a"); cases], &[], 1).unwrap();
        let schedule = schedule(depth, &steps);
        prop_assert!(schedule.case_s * f64::from(schedule.rounds) * cases as f64 <= limit_s);
    }
}
