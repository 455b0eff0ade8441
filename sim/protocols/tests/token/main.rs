//! Offline tokens, from their bytes to whole histories; one binary, as linking costs most.

#[path = "../tokens/mod.rs"]
mod tokens;

mod authorities;
mod authority;
mod batch;
mod bytes;
mod change;
mod client;
mod crashes;
mod evidence;
mod histories;
mod journal;
mod orders;
mod replay;
mod state;
mod vectors;
mod wallet;
