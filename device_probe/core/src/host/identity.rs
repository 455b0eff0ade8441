//! What the device and its system are called.

use std::ffi::CStr;

use super::{Properties, Tree};
use crate::report::{Core, Device};

/// Names and versions: from Android's properties if there are any, else from Linux's files.
pub fn read(tree: &Tree, properties: &Properties, cores: Vec<Core>) -> Device {
    let names = match properties.are_there() {
        true => android(properties),
        false => linux(tree),
    };
    Device {
        kernel: kernel(tree),
        memory_bytes: memory_bytes(tree),
        cores,
        ..names
    }
}

/// The instruction set, as Android names it.
pub const fn abi() -> &'static str {
    if cfg!(target_arch = "aarch64") {
        "arm64-v8a"
    } else if cfg!(target_arch = "arm") {
        "armeabi-v7a"
    } else {
        std::env::consts::ARCH
    }
}

fn android(properties: &Properties) -> Device {
    let first = |names: &[&str]| {
        let found = names.iter().find_map(|name| properties.get(name));
        found.unwrap_or_default().to_owned()
    };
    Device {
        manufacturer: first(&["ro.product.manufacturer"]),
        model: first(&["ro.product.model"]),
        // Since Android 12; before, the platform's name comes nearest.
        soc: first(&["ro.soc.model", "ro.board.platform", "ro.hardware"]),
        os: format!("Android {}", first(&["ro.build.version.release"])),
        os_build: first(&["ro.build.fingerprint"]),
        ..nameless()
    }
}

fn linux(tree: &Tree) -> Device {
    let dmi = |name: &str| tree.text(&format!("sys/class/dmi/id/{name}"));
    // Boards with a device tree have no DMI.
    let model = dmi("product_name").or_else(|| tree.text("proc/device-tree/model"));
    Device {
        manufacturer: dmi("sys_vendor").unwrap_or_default(),
        model: model.unwrap_or_default(),
        soc: cpuinfo(tree, &["model name", "Hardware", "Processor"]).unwrap_or_default(),
        os: os_release(tree, "PRETTY_NAME").unwrap_or_default(),
        os_build: os_release(tree, "VERSION_ID").unwrap_or_default(),
        ..nameless()
    }
}

fn nameless() -> Device {
    Device {
        manufacturer: String::new(),
        model: String::new(),
        soc: String::new(),
        abi: abi().to_owned(),
        os: String::new(),
        os_build: String::new(),
        kernel: String::new(),
        memory_bytes: 0,
        scratch_filesystem: None,
        cores: Vec::new(),
    }
}

/// The first of these fields that `/proc/cpuinfo` has.
pub fn cpuinfo(tree: &Tree, fields: &[&str]) -> Option<String> {
    let text = tree.text("proc/cpuinfo")?;
    let value = |field: &&str| {
        let mut entries = text.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = entries.find(|(name, _)| name.trim() == *field)?;
        Some(value.trim().to_owned())
    };
    fields.iter().find_map(value)
}

fn os_release(tree: &Tree, field: &str) -> Option<String> {
    let text = tree.text("etc/os-release")?;
    let mut entries = text.lines().filter_map(|line| line.split_once('='));
    let (_, value) = entries.find(|(name, _)| *name == field)?;
    Some(value.trim_matches('"').to_owned())
}

/// Release of the kernel; from the system call where the file is kept away.
fn kernel(tree: &Tree) -> String {
    let file = tree.text("proc/sys/kernel/osrelease");
    file.unwrap_or_else(|| uname(|names| &names.release))
}

fn uname(field: impl Fn(&libc::utsname) -> &[libc::c_char]) -> String {
    // SAFETY: the names are arrays of characters, for which zeros are valid.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `names` is valid for writes.
    if unsafe { libc::uname(&mut names) } == -1 {
        return String::new();
    }
    // SAFETY: the kernel ends every name with NUL inside its array.
    let name = unsafe { CStr::from_ptr(field(&names).as_ptr()) };
    name.to_string_lossy().into_owned()
}

/// Main memory in bytes; `MemTotal` is in KiB.
fn memory_bytes(tree: &Tree) -> u64 {
    let text = tree.text("proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.unwrap_or(0_u64).saturating_mul(1024)
}
