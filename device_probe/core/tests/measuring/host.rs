//! Devices that do not exist: a phone, a virtual machine, and broken ones.

use pocketsim_probe_core::host::affinity::{allowed_cores, current_core, on_cores};
use pocketsim_probe_core::host::cores::{classes, of_class};
use pocketsim_probe_core::host::{battery, build, virtuality, Host, HostExtras, Properties, Tree};
use pocketsim_probe_core::report::{CoreClass, Device, LibC};
use proptest::prelude::*;
use tempfile::TempDir;

use super::fakes::plant;

const PROPERTIES: &str = "[ro.product.manufacturer]: [Fairphone]
[ro.product.model]: [FP4]
[ro.soc.model]: [SM7225]
[ro.build.version.release]: [13]
[ro.build.fingerprint]: [Fairphone/FP4eea/FP4:13/TKQ1/1:user/release-keys]
[ro.debuggable]: [0]
[ro.kernel.qemu]: []
a line that is none
";

fn device(files: &[(&str, &str)], properties: &str) -> (TempDir, Host) {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), files);
    let host = Host::read(Tree::new(folder.path()), Properties::parse(properties));
    (folder, host)
}

fn phone() -> (TempDir, Host) {
    let (folder, _) = device(
        &[
            (
                "proc/meminfo",
                "MemTotal:        5678901 kB\nMemFree: 1 kB\n",
            ),
            ("proc/sys/kernel/osrelease", "4.19.157-perf\n"),
            ("proc/loadavg", "2.50 2.00 1.00 3/900 1234\n"),
            ("sys/class/thermal/thermal_zone0/type", "cpu-0-0-usr\n"),
            ("sys/class/thermal/thermal_zone0/temp", "41300\n"),
            ("sys/class/thermal/thermal_zone1/temp", "-274000\n"),
            ("sys/class/power_supply/usb/type", "USB\n"),
            ("sys/class/power_supply/pen/type", "Battery\n"),
            ("sys/class/power_supply/pen/scope", "Device\n"),
            ("sys/class/power_supply/pen/capacity", "3\n"),
            ("sys/class/power_supply/zbattery/type", "Battery\n"),
            ("sys/class/power_supply/zbattery/capacity", "81\n"),
            ("sys/class/power_supply/zbattery/temp", "305\n"),
            ("sys/class/power_supply/zbattery/status", "Discharging\n"),
            ("sys/class/power_supply/zbattery/current_now", "-412500\n"),
        ],
        "",
    );
    for (number, max_khz) in [
        (0, 1_804_800),
        (6, 2_208_000),
        (7, 2_500_000),
        (10, 1_804_800),
    ] {
        let cpu = format!("sys/devices/system/cpu/cpu{number}/cpufreq");
        let files = [
            (format!("{cpu}/cpuinfo_min_freq"), "300000".to_owned()),
            (format!("{cpu}/cpuinfo_max_freq"), max_khz.to_string()),
            (format!("{cpu}/scaling_cur_freq"), "614400".to_owned()),
            (format!("{cpu}/scaling_governor"), "schedutil\n".to_owned()),
        ];
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        plant(folder.path(), &files);
    }
    plant(
        folder.path(),
        &[
            ("sys/devices/system/cpu/cpufreq/x", ""),
            ("sys/devices/system/cpu/cpuidle/x", ""),
        ],
    );
    let host = Host::read(Tree::new(folder.path()), Properties::parse(PROPERTIES));
    (folder, host)
}

#[test]
fn a_phone_says_what_it_is() {
    let (_folder, host) = phone();
    let Device {
        manufacturer,
        model,
        soc,
        os,
        os_build,
        kernel,
        memory_bytes,
        ..
    } = host.device();
    assert_eq!(
        (manufacturer.as_str(), model.as_str()),
        ("Fairphone", "FP4")
    );
    assert_eq!((soc.as_str(), os.as_str()), ("SM7225", "Android 13"));
    assert!(os_build.ends_with("release-keys"));
    assert_eq!(
        (kernel.as_str(), memory_bytes),
        ("4.19.157-perf", 5_678_901 * 1024)
    );
}

#[test]
fn cores_are_sorted_by_number_and_by_class() {
    let (_folder, host) = phone();
    let numbers: Vec<_> = host.cores().iter().map(|core| core.number).collect();
    assert_eq!(numbers, [0, 6, 7, 10]);
    assert_eq!(of_class(host.cores(), CoreClass::Big), [7]);
    assert_eq!(of_class(host.cores(), CoreClass::Middle), [6]);
    assert_eq!(of_class(host.cores(), CoreClass::Little), [0, 10]);
    let first = &host.cores()[0];
    assert_eq!(first.frequency_max_hz, Some(1_804_800_000.0));
    assert_eq!(first.governor.as_deref(), Some("schedutil"));
}

#[test]
fn capacity_counts_more_than_frequency() {
    let file = |n: u32, name: &str| format!("sys/devices/system/cpu/cpu{n}/{name}");
    let files = [
        (file(0, "cpu_capacity"), "400"),
        (file(0, "cpufreq/cpuinfo_max_freq"), "2400000"),
        (file(1, "cpu_capacity"), "1024"),
        (file(1, "cpufreq/cpuinfo_max_freq"), "2000000"),
    ];
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), *text))
        .collect();
    let (_folder, host) = device(&files, "");
    assert_eq!(of_class(host.cores(), CoreClass::Big), [1]);
}

#[test]
fn all_cores_are_compared_by_one_measure() {
    let file = |n: u32, name: &str| format!("sys/devices/system/cpu/cpu{n}/{name}");
    let classes = |online: &'static str| {
        let files = [
            (file(0, "cpu_capacity"), "1024"),
            (file(0, "cpufreq/cpuinfo_max_freq"), "1000000"),
            (file(1, "cpufreq/cpuinfo_max_freq"), "2000000"),
            (file(2, "online"), online),
        ];
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect();
        let (_folder, host) = device(&files, "");
        let cores = host.cores().iter();
        cores.map(|core| core.core_class).collect::<Vec<_>>()
    };
    let offline = [CoreClass::Little, CoreClass::Big, CoreClass::All];
    assert_eq!(classes("0"), offline, "1024 is a capacity and no frequency");
    assert_eq!(classes("1"), [CoreClass::All; 3]);
}

#[test]
fn a_phone_says_how_it_is() {
    let (_folder, host) = phone();
    let state = host.state(&HostExtras::default());
    let battery = state.battery.unwrap();
    assert_eq!(battery.level_ratio, Some(0.81));
    assert_eq!(battery.temperature_c, Some(30.5));
    assert_eq!(battery.status.as_deref(), Some("Discharging"));
    assert_eq!(battery.current_a, Some(-0.4125));
    assert_eq!(state.load_1min, Some(2.5));
    assert_eq!(state.frequencies_hz, vec![Some(614_400_000.0); 4]);
    assert_eq!(
        state.thermal.len(),
        1,
        "a zone without a sensor is left out"
    );
    assert_eq!(state.thermal[0].zone, "cpu-0-0-usr");
    assert_eq!(state.thermal[0].temperature_c, 41.3);
}

#[test]
fn what_java_says_comes_first() {
    let (_folder, host) = phone();
    let extras: HostExtras = serde_json::from_str(
        r#"{"battery_current_a": -0.3, "battery_level_ratio": 0.5, "thermal_status": 3}"#,
    )
    .unwrap();
    let state = host.state(&extras);
    let battery = state.battery.unwrap();
    assert_eq!(battery.current_a, Some(-0.3));
    assert_eq!(battery.level_ratio, Some(0.5));
    assert_eq!(battery.temperature_c, Some(30.5));
    assert_eq!(state.thermal_status, Some(3));
}

#[test]
fn misspelt_extras_are_refused() {
    assert!(serde_json::from_str::<HostExtras>(r#"{"battery_curent_a": 1}"#).is_err());
}

#[test]
fn what_is_plausible_decides_on_the_unit_of_a_current() {
    let current = |status: &'static str, raw: &'static str| {
        let files = [
            ("sys/class/power_supply/battery/type", "Battery"),
            ("sys/class/power_supply/battery/status", status),
            ("sys/class/power_supply/battery/current_now", raw),
        ];
        let (folder, _) = device(&files, "");
        let tree = Tree::new(folder.path());
        let java = raw.parse::<f64>().ok().map(|raw| HostExtras {
            battery_current_a: Some(raw / 1e6),
            ..HostExtras::default()
        });
        let by_file = battery::current_a(&tree, &HostExtras::default());
        let by_java = battery::current_a(&tree, &java.unwrap_or_default());
        assert_eq!(by_file.is_some(), by_java.is_some(), "one rule for both");
        by_file
    };
    assert_eq!(current("Discharging", "412"), Some(0.412));
    assert_eq!(current("Discharging", "-1800"), Some(-1.8));
    assert_eq!(current("Discharging", "5000"), Some(0.005));
    assert_eq!(current("Charging", "412500"), Some(0.4125));
    assert_eq!(current("Charging", "-19000"), None, "a trickle, or 19 A");
    assert_eq!(current("Full", "412"), None);
    assert_eq!(current("Discharging", "unknown"), None);
}

#[test]
fn one_large_reading_decides_for_a_series() {
    let amperes = battery::amperes(&[100.0, -300_000.0], true);
    assert_eq!(amperes, Some(vec![1e-4, -0.3]));
}

#[test]
fn a_device_that_says_nothing_is_no_failure() {
    let (_folder, host) = device(&[], "");
    assert!(host.cores().is_empty());
    assert_eq!(host.device().memory_bytes, 0);
    assert_eq!(host.device().manufacturer, "");
    let state = host.state(&HostExtras::default());
    assert_eq!(state.battery, None);
    assert_eq!(state.load_1min, None);
}

#[test]
fn a_linux_machine_says_what_it_is() {
    let (_folder, host) = device(
        &[
            ("sys/class/dmi/id/sys_vendor", "LENOVO\n"),
            ("sys/class/dmi/id/product_name", "20XW\n"),
            (
                "etc/os-release",
                "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\n",
            ),
            (
                "proc/cpuinfo",
                "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu aes\n",
            ),
        ],
        "",
    );
    let device = host.device();
    assert_eq!(
        (device.manufacturer.as_str(), device.model.as_str()),
        ("LENOVO", "20XW")
    );
    assert_eq!(
        (device.soc.as_str(), device.os.as_str()),
        ("Some CPU", "Debian GNU/Linux 12")
    );
    assert_eq!(
        virtuality::virtual_machine(host.tree(), host.properties()),
        None
    );
}

#[test]
fn virtual_machines_are_found() {
    for files in [
        [("proc/cpuinfo", "flags\t\t: fpu hypervisor aes\n")],
        [("sys/class/dmi/id/sys_vendor", "QEMU\n")],
        [("proc/device-tree/hypervisor/compatible", "linux,kvm")],
    ] {
        let (_folder, host) = device(&files, "");
        assert!(
            virtuality::virtual_machine(host.tree(), host.properties()).is_some(),
            "{files:?}"
        );
    }
}

#[test]
fn a_phone_that_runs_on_a_hypervisor_of_its_own_is_no_guest() {
    let found = |compatible, properties| {
        let files = [("proc/device-tree/hypervisor/compatible", compatible)];
        let (_folder, host) = device(&files, properties);
        virtuality::virtual_machine(host.tree(), host.properties()).is_some()
    };
    assert!(!found("qcom,gunyah-hypervisor\0simple-bus\0", ""));
    assert!(!found("linux,kvm\0", PROPERTIES));
    assert!(found("xen,xen-4.11\0xen,xen\0", ""));
    let emulated = "[ro.soc.model]: [x]\n[ro.hardware]: [cutf_cvm]";
    assert!(found("linux,kvm\0", emulated));
}

#[test]
fn translated_code_is_found() {
    let translated = |files: &[(&str, &str)], target: &str| {
        let (_folder, host) = device(files, "");
        virtuality::translated(host.tree(), target).is_some()
    };
    let x86 = [("proc/cpuinfo", "vendor_id\t: AuthenticAMD\n")];
    assert!(translated(&x86, "aarch64"));
    assert!(!translated(&x86, "x86_64"));
    let kernel = [("proc/sys/kernel/arch", "x86_64\n")];
    assert!(translated(&kernel, "aarch64"));
    assert!(!translated(&kernel, "x86"));
    let arm = [
        ("proc/sys/kernel/arch", "aarch64\n"),
        ("proc/cpuinfo", "CPU implementer\t: 0x41\n"),
    ];
    assert!(!translated(&arm, "aarch64"));
    assert!(!translated(&arm, "arm"));
}

#[test]
fn androids_emulators_are_found_and_phones_are_not() {
    for properties in [
        "[ro.kernel.qemu]: [1]",
        "[ro.hardware]: [ranchu]",
        "[ro.product.model]: [sdk_gphone64_arm64]",
        "[ro.build.fingerprint]: [generic/aosp/x:9/PI/1:eng/test-keys]",
    ] {
        let (_folder, host) = device(&[], properties);
        let found = virtuality::emulator(host.tree(), host.properties());
        assert!(found.is_some(), "{properties}");
    }
    let (_folder, host) = phone();
    assert_eq!(virtuality::emulator(host.tree(), host.properties()), None);
}

#[test]
fn debuggable_systems_and_apps_are_found() {
    let system = Properties::parse("[ro.debuggable]: [1]");
    let user = Properties::parse(PROPERTIES);
    let app = HostExtras {
        debuggable: Some(true),
        ..HostExtras::default()
    };
    let release = HostExtras::default();
    assert!(virtuality::debuggable(&system, &release).is_some());
    assert!(virtuality::debuggable(&user, &app).is_some());
    assert_eq!(virtuality::debuggable(&user, &release), None);
}

#[test]
fn work_stays_on_its_cores_and_nobody_else_does() {
    let before = allowed_cores();
    let last = *before.last().expect("this machine has a core");
    let seen = on_cores(&[last], || Ok((allowed_cores(), current_core()))).unwrap();
    assert_eq!(seen, (vec![last], Some(last)));
    assert_eq!(allowed_cores(), before);
}

#[test]
fn a_core_that_is_away_does_not_keep_work_from_its_fellows() {
    let first = allowed_cores()[0];
    let seen = on_cores(&[first, 1_001], || Ok(allowed_cores())).unwrap();
    assert_eq!(seen, [first]);
}

#[test]
fn what_the_kernel_refuses_has_a_reason() {
    let missing = on_cores(&[1_000], || Ok(())).unwrap_err();
    assert!(missing.0.contains("1000"), "{missing}");
}

#[test]
fn this_build_knows_what_it_is() {
    assert!(build::TARGET.contains(std::env::consts::ARCH));
    assert_eq!(build::libc() == LibC::Musl, build::TARGET.contains("musl"));
    let crates = build::crates();
    for name in [
        "ed25519-dalek",
        "curve25519-dalek",
        "sha2",
        "quinn",
        "rustls",
        "ring",
        "tokio",
    ] {
        assert!(
            crates[name].starts_with(|c: char| c.is_ascii_digit()),
            "{name}"
        );
    }
}

proptest! {
    #[test]
    fn classes_follow_speed(speeds in prop::collection::vec(prop::sample::select(vec![1.0, 2.0, 3.0]), 1..9)) {
        let named = classes(&speeds.iter().copied().map(Some).collect::<Vec<_>>());
        let fastest = speeds.iter().copied().fold(0.0, f64::max);
        for (speed, class) in speeds.iter().zip(&named) {
            prop_assert_eq!(*speed == fastest, matches!(class, CoreClass::Big | CoreClass::All));
        }
        let alike = speeds.iter().all(|speed| *speed == fastest);
        prop_assert_eq!(alike, named.contains(&CoreClass::All));
    }

    #[test]
    fn a_silent_core_changes_no_other(speed in 1.0..9.0_f64) {
        prop_assert_eq!(classes(&[Some(speed), None]), vec![CoreClass::All; 2]);
        let three = [CoreClass::Little, CoreClass::All, CoreClass::Big];
        prop_assert_eq!(classes(&[Some(speed), None, Some(2.0 * speed)]), three);
    }

    #[test]
    fn properties_never_fail(listing in "(\\[[a-z.]*\\]: \\[.*\\]\n|.*\n){0,8}") {
        let _ = Properties::parse(&listing);
    }
}
