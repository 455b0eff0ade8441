//! Offline tokens, from their bytes to whole histories.

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
