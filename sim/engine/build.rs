//! Compiles the C++ shim against SimGrid's headers and links its library.
//!
//! `build/simgrid` (made by `tools/simgrid_sdk.py`) or `$SIMGRID_SDK` holds
//! `include/` and `lib/`.

use std::env;
use std::path::PathBuf;

fn main() {
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
