//! What only the compiler knows and a report says: the target, the optimisation, and the versions
//! of the libraries whose speed is measured, from the lock file.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let target = env::var("TARGET").expect("cargo sets it");
    let optimisation = env::var("OPT_LEVEL").expect("cargo sets it");
    println!("cargo:rustc-env=PROBE_TARGET={target}");
    println!("cargo:rustc-env=PROBE_OPTIMISATION={optimisation}");
    let crates = lock_file().map_or(String::new(), |path| versions(&path));
    println!("cargo:rustc-env=PROBE_CRATES={crates}");
}

/// The lock file of the workspace, which is further up.
fn lock_file() -> Option<PathBuf> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let found = here.ancestors().map(|folder| folder.join("Cargo.lock"));
    found.into_iter().find(|path| path.is_file())
}

/// `name=version` of each library that matters, with commas between.
fn versions(lock: &Path) -> String {
    println!("cargo:rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(lock).unwrap_or_default();
    let packages = text.split("[[package]]").filter_map(|package| {
        let name = value(package, "name")?;
        let version = value(package, "version")?;
        MEASURED
            .contains(&name)
            .then(|| format!("{name}={version}"))
    });
    packages.collect::<Vec<_>>().join(",")
}

fn value<'a>(package: &'a str, key: &str) -> Option<&'a str> {
    let start = format!("{key} = \"");
    let line = package.lines().find(|line| line.starts_with(&start))?;
    line.strip_prefix(&start)?.strip_suffix('"')
}

/// Libraries whose speed ends up in a report.
const MEASURED: &[&str] = &[
    "chacha20poly1305",
    "crypto_box",
    "crypto_secretbox",
    "curve25519-dalek",
    "ed25519-dalek",
    "libsqlite3-sys",
    "quinn",
    "quinn-proto",
    "quinn-udp",
    "ring",
    "rusqlite",
    "rustls",
    "serde_json",
    "sha2",
    "tokio",
    "x25519-dalek",
];
