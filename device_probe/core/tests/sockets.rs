//! What goes over sockets in real time, in a program of its own: cargo runs it when no other computes.

mod network;
mod relay;
mod trade;
