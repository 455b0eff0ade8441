//! All tests of the engine, in one program: each of its own would compile and link them anew.
//!
//! Those beside it make an engine of SimGrid, of which a process has one.

mod common;
mod cost;
mod driver;
mod network;
mod phone;
mod record;
