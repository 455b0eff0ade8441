//! What the compiler knows of this probe.

use std::collections::BTreeMap;

use crate::report::{Build, LibC};

/// Version of the probe.
pub const PROBE_VERSION: &str = env!("CARGO_PKG_VERSION");
/// Target triple that it was compiled for.
pub const TARGET: &str = env!("PROBE_TARGET");

/// The C library that it calls.
pub const fn libc() -> LibC {
    if cfg!(target_os = "android") {
        LibC::Bionic
    } else if cfg!(target_env = "musl") {
        LibC::Musl
    } else {
        LibC::Gnu
    }
}

/// Whether it was compiled with optimisation and without debug assertions, which slow it down.
pub fn build() -> Build {
    let optimised = !matches!(env!("PROBE_OPTIMISATION"), "0" | "1");
    match optimised && !cfg!(debug_assertions) {
        true => Build::Release,
        false => Build::Debug,
    }
}

/// Versions of the libraries whose speed it measures; SQLite's own version besides.
pub fn crates() -> BTreeMap<String, String> {
    let locked = env!("PROBE_CRATES").split(',');
    #[cfg(feature = "sqlite")]
    let sqlite = Some(("sqlite", rusqlite::version()));
    #[cfg(not(feature = "sqlite"))]
    let sqlite = None;
    locked
        .filter_map(|entry| entry.split_once('='))
        .chain(sqlite)
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .collect()
}
