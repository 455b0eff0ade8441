//! Signs that this is no device as people carry it: emulators, virtual machines, debug builds.

use super::{identity, HostExtras, Properties, Tree};

/// Why this must be an emulator: its instructions are translated, or it is Android's own.
pub fn emulator(tree: &Tree, properties: &Properties) -> Option<String> {
    translated(tree, std::env::consts::ARCH).or_else(|| android_emulator(properties))
}

/// Why this must be a guest of a hypervisor, which shares its cores with others.
pub fn virtual_machine(tree: &Tree, properties: &Properties) -> Option<String> {
    let flags = identity::cpuinfo(tree, &["flags"]).unwrap_or_default();
    if flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return Some("the processor has the flag `hypervisor`".to_owned());
    }
    if let Some(hypervisor) = guest_of(tree).filter(|_| !is_phone(properties)) {
        return Some(format!(
            "the device tree says that this is a guest of {hypervisor}"
        ));
    }
    let files = ["sys_vendor", "product_name"].map(|name| format!("sys/class/dmi/id/{name}"));
    let mut names = files.iter().filter_map(|path| tree.text(path));
    let vendor = names.find(|name| HYPERVISORS.iter().any(|sign| name.contains(sign)))?;
    Some(format!("the machine says that it is {vendor}"))
}

/// The hypervisor that a guest's device tree names. Phones name one too whose owner they are: Gunyah
/// and Haven on Qualcomm's processors run the phone itself, and take nothing from it.
fn guest_of(tree: &Tree) -> Option<&'static str> {
    let compatible = tree.text("proc/device-tree/hypervisor/compatible")?;
    // A list of strings, each with a NUL at its end.
    let found = |guest: &&str| compatible.split('\0').any(|name| name == *guest);
    GUESTS.iter().copied().find(found)
}

/// Whether Android names a system on a chip, and not that of an emulator.
fn is_phone(properties: &Properties) -> bool {
    properties.get("ro.soc.model").is_some() && android_emulator(properties).is_none()
}

/// Why this must be built for debugging.
pub fn debuggable(properties: &Properties, extras: &HostExtras) -> Option<String> {
    if extras.debuggable == Some(true) {
        return Some("the app is debuggable".to_owned());
    }
    let system = properties.holds("ro.debuggable");
    system.then(|| "ro.debuggable is 1: a userdebug or eng build".to_owned())
}

/// Whether code for `target` (Rust's name) runs on a processor of another kind: qemu-user claims
/// the target's architecture in `uname`, but passes these files on.
pub fn translated(tree: &Tree, target: &str) -> Option<String> {
    if let Some(kernel) = tree.text("proc/sys/kernel/arch") {
        if family(&kernel) != family(target) {
            return Some(format!("code for {target} on a kernel for {kernel}"));
        }
    }
    let vendor = identity::cpuinfo(tree, &["vendor_id"])?;
    let x86 = X86_VENDORS.contains(&vendor.as_str());
    (x86 && family(target) != "x86")
        .then(|| format!("code for {target} on a processor of {vendor}"))
}

/// Architectures that run each other's code without translation.
fn family(architecture: &str) -> &str {
    match architecture {
        "x86" | "x86_64" | "i386" | "i686" => "x86",
        name if name.starts_with("arm") || name.starts_with("aarch64") => "arm",
        other => other,
    }
}

fn android_emulator(properties: &Properties) -> Option<String> {
    if let Some(flag) = QEMU_FLAGS.iter().find(|flag| properties.holds(flag)) {
        return Some(format!("{flag} is 1"));
    }
    NAMES.iter().find_map(|(property, signs)| {
        let value = properties.get(property)?;
        let sign = signs.iter().find(|sign| value.contains(*sign))?;
        Some(format!("{property} is `{value}`, which has `{sign}`"))
    })
}

/// Set by the emulator's kernel and boot loader.
const QEMU_FLAGS: &[&str] = &["ro.kernel.qemu", "ro.boot.qemu"];
/// Names of the emulator's boards (goldfish, ranchu, cuttlefish) and images.
const NAMES: &[(&str, &[&str])] = &[
    ("ro.hardware", &["goldfish", "ranchu", "cutf", "vbox86"]),
    ("ro.build.characteristics", &["emulator"]),
    (
        "ro.product.model",
        &[
            "sdk_gphone",
            "google_sdk",
            "Emulator",
            "Android SDK built for",
        ],
    ),
    ("ro.product.manufacturer", &["Genymotion"]),
    (
        "ro.build.fingerprint",
        &["generic/", "sdk_gphone", "emulator"],
    ),
];
/// Bindings of Linux for guests (Documentation/devicetree, and arch/arm64/kvm).
const GUESTS: &[&str] = &["linux,kvm", "xen,xen"];
/// What hypervisors write into the DMI tables of their guests.
const HYPERVISORS: &[&str] = &[
    "QEMU",
    "KVM",
    "VMware",
    "VirtualBox",
    "innotek",
    "Xen",
    "Amazon EC2",
    "Google Compute Engine",
    "Virtual Machine",
    "Parallels",
    "Bochs",
];
const X86_VENDORS: &[&str] = &[
    "GenuineIntel",
    "AuthenticAMD",
    "HygonGenuine",
    "CentaurHauls",
];
