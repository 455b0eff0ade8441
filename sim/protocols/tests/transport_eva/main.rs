//! EVA between phones: without faults, under loss, into small buffers, and as bytes.

#[path = "../common/mod.rs"]
mod common;

mod buffer;
mod codec;
mod exchange;
mod loss;
mod phones;
