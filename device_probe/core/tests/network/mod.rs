//! What is measured over sockets: the kernels of this device alone, and a link between two probes.

mod codec;
mod experiment;
mod hostile;
mod kernels;
mod link;
mod serving;
