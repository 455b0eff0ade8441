//! Compiles the C++ shim against SimGrid's headers and links its library; digests the sources.
//!
//! `build/simgrid` (made by `tools/simgrid_sdk.py`) or `$SIMGRID_SDK` holds
//! `include/` and `lib/`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rustc-env=POCKETSIM_SOURCES={:016x}", digest());
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let sdk = env::var_os("SIMGRID_SDK").map_or_else(|| root.join("build/simgrid"), PathBuf::from);
    println!("cargo:rerun-if-env-changed=SIMGRID_SDK");
    println!("cargo:rerun-if-changed=shim/shim.cpp");
    println!("cargo:rerun-if-changed=shim/shim.hpp");
    assert!(
        sdk.join("include/simgrid/s4u.hpp").exists(),
        "no SimGrid headers in {}: run `make setup`, or set SIMGRID_SDK",
        sdk.display()
    );
    let library = sdk
        .join("lib")
        .canonicalize()
        .expect("SimGrid SDK without lib/");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .include(sdk.join("include"))
        .file("shim/shim.cpp")
        .compile("pocketsim_shim");
    println!("cargo:rustc-link-search=native={}", library.display());
    println!("cargo:rustc-link-lib=dylib=simgrid");
    // Tests of whole runs find it where it lies; cargo sets LD_LIBRARY_PATH itself.
    let rpath = format!("-Wl,-rpath,{}", library.display());
    println!("cargo:rustc-link-arg-tests={rpath}");
    // Where pocketsim/sim/_engine.abi3.so finds SimGrid: beside itself in a wheel, in build/ when it
    // lies in the source tree.
    println!("cargo:rustc-link-arg-cdylib=-Wl,-rpath,$ORIGIN:$ORIGIN/../../build/simgrid/lib");
}

/// A digest of what the engine is made of: a library of somebody's own has to be built from the same.
fn digest() -> u64 {
    let mut files = Vec::new();
    for folder in ["src", "shim", "../protocols/src"] {
        println!("cargo:rerun-if-changed={folder}");
        collect(Path::new(folder), &mut files);
    }
    files.sort();
    let mut hash = FNV_OFFSET;
    for file in files {
        let name = file.to_str().expect("a name in ASCII").as_bytes();
        for byte in [name, &fs::read(&file).expect("a file")].concat() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
    }
    hash
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

// The constants of FNV-1a: the standard library has no hash that stays the same.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
