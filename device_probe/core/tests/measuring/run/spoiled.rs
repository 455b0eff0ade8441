//! What spoils a run, and what does not.

use super::*;

#[test]
fn rounds_that_disagree_are_noise() {
    let made = Arc::new(AtomicU64::new(0));
    let mut case = steady_case("drifting");
    case.work = Work::Repeat(Arc::new(move || {
        let duration_s = 1e-4 * (1.0 + 0.06 * made.fetch_add(1, Ordering::Relaxed) as f64);
        Ok(Box::new(move || {
            work(duration_s);
            Ok(())
        }))
    }));
    let report = full(vec![case, steady_case("steady")]);
    assert_eq!(conditions(&report), [Condition::Noisy]);
    let detail = &report
        .spoiled
        .iter()
        .find(|s| s.condition == Condition::Noisy)
        .unwrap()
        .detail;
    assert!(
        detail.contains("1 of 2") && detail.contains("drifting (rounds 12 % apart)"),
        "{detail}"
    );
}

#[test]
fn one_noisy_case_of_many_is_marked_and_spoils_nothing() {
    let made = Arc::new(AtomicU64::new(0));
    let mut drifting = steady_case("drifting");
    drifting.work = Work::Repeat(Arc::new(move || {
        let made = made.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(steady(1e-4 * (1.0 + 0.06 * made as f64))))
    }));
    let steady = (0..19).map(|number| {
        let mut case = steady_case("steady");
        case.parameters.insert("bytes", f64::from(number));
        case
    });
    let report = full(std::iter::once(drifting).chain(steady).collect());
    assert_eq!(conditions(&report), []);
    let noisy = report.measurements.iter().filter(|m| m.noisy);
    assert_eq!(
        noisy.map(|m| &m.kernel[..]).collect::<Vec<_>>(),
        ["drifting"]
    );
}

#[test]
fn cases_that_never_settle_spoil_a_run() {
    let mut growing = steady_case("growing");
    growing.work = Work::Repeat(Arc::new(|| {
        let mut duration_s = 1e-3;
        Ok(Box::new(move || {
            duration_s *= 1.05;
            work(duration_s);
            Ok(())
        }))
    }));
    let found = conditions(&full(vec![growing, steady_case("steady")]));
    assert!(found.contains(&Condition::Unsettled), "{found:?}");
}

#[test]
fn rounds_say_where_they_were_and_how_long_their_samples_are() {
    let report = full(vec![steady_case("a"), experiment("b", "wall_s", vec![1.0])]);
    let [repeated, experiment] = &report.measurements[..] else {
        panic!("two cases")
    };
    let rounds = repeated.rounds.iter().chain(&experiment.rounds);
    assert!(rounds.clone().all(|round| round.core.is_some()));
    assert!(repeated
        .rounds
        .iter()
        .all(|r| r.iterations_per_sample > Some(1)));
    assert!(experiment
        .rounds
        .iter()
        .all(|r| r.iterations_per_sample.is_none()));
    assert!(report.device.scratch_filesystem.is_some());
}

#[test]
fn stolen_time_is_noise_where_a_kernel_computes_and_not_where_it_waits() {
    let waiting = |kernel, group| {
        repeated(kernel, group, || {
            work(1e-4);
            wait(1e-5);
            Ok(())
        })
    };
    let stolen = full(vec![waiting("sign", Group::Crypto)]);
    assert_eq!(conditions(&stolen), [Condition::Noisy]);
    assert_eq!(
        conditions(&full(vec![waiting("append", Group::Storage)])),
        []
    );
}

#[test]
fn time_that_others_took_now_and_then_is_noise_too() {
    let mut calls = 0_u64;
    let mut case = steady_case("sign");
    case.work = Work::Repeat(Arc::new(move || {
        Ok(Box::new(move || {
            calls += 1;
            work(1e-4);
            wait(if calls % 100 == 0 { 4e-3 } else { 0.0 });
            Ok(())
        }))
    }));
    let report = full(vec![case]);
    assert!((wall_median_s(&report.measurements[0]) / 1e-4 - 1.0).abs() < 0.01);
    assert_eq!(conditions(&report), [Condition::Noisy]);
    let spoiled = report
        .spoiled
        .iter()
        .find(|s| s.condition == Condition::Noisy);
    assert!(spoiled
        .unwrap()
        .detail
        .starts_with("others had the cores for 2"));
}

#[test]
fn a_bad_device_is_called_so() {
    let mut device = Device::new(&[
        ("proc/cpuinfo", "flags : hypervisor"),
        ("sys/class/power_supply/b/type", "Battery"),
        ("sys/class/power_supply/b/capacity", "24"),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave",
        ),
    ]);
    device.properties = "[ro.debuggable]: [1]\n[ro.kernel.qemu]: [1]";
    let mut options = options(Depth::Quick);
    options.extras = Extras::live(|| HostExtras {
        thermal_status: Some(2),
        ..HostExtras::default()
    });
    let world = device.world(vec![steady_case("a")]);
    let report = run_in(&world, &options, &Counter::default(), &Stop::new()).unwrap();
    let expected = [
        Condition::Emulator,
        Condition::VirtualMachine,
        Condition::Debuggable,
        Condition::Throttled,
        Condition::LowBattery,
        Condition::PowerSave,
    ];
    assert_eq!(conditions(&report), expected);
}

#[test]
fn a_good_device_is_not_called_bad() {
    let device = Device::new(&[
        ("sys/class/power_supply/b/type", "Battery"),
        ("sys/class/power_supply/b/capacity", "25"),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave",
        ),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
            "intel_pstate",
        ),
    ]);
    let world = device.world(vec![steady_case("a")]);
    let report = run_in(
        &world,
        &options(Depth::Quick),
        &Counter::default(),
        &Stop::new(),
    )
    .unwrap();
    assert_eq!(conditions(&report), []);
}

#[test]
fn two_cores_without_a_shared_cache_spoil_a_run() {
    let run = |core_to_core_s| {
        let world = World {
            core_to_core_s,
            ..Device::new(&[]).world(vec![steady_case("a")])
        };
        run_in(
            &world,
            &options(Depth::Full),
            &Counter::default(),
            &Stop::new(),
        )
        .unwrap()
    };
    let shared = run(|| Some(42e-9));
    assert_eq!(conditions(&shared), []);
    let State { core_to_core_s, .. } = shared.conditions.before;
    assert_eq!(core_to_core_s, Some(42e-9));
    let apart = run(|| Some(190e-9));
    assert_eq!(conditions(&apart), [Condition::CoresApart]);
    let detail = &apart.spoiled.last().expect("it is").detail;
    assert_eq!(detail, "a cache line takes 190 ns from core to core");
}
