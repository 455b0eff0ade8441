//! Tokens as files in folders: payments and cheats, the files themselves, and crashes.

mod crashes;
mod files;
mod journal;
mod payments;
mod town;
