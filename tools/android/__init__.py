"""Builds the probe for Android phones with Rust's own linker and Debian's clang, without an NDK."""
