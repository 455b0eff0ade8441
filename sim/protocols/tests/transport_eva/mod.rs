//! EVA between phones: without faults, under loss, into small buffers, and as bytes.

mod buffer;
mod codec;
mod exchange;
mod loss;
mod phones;
