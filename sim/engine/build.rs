//! Digests the sources, so that the compiled engine can say what it is made of.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rustc-env=POCKETSIM_SOURCES={:016x}", digest());
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
