//! What lies between phones: their radios, ways, contacts and sockets.

mod forwarding;
mod moves;
mod outages;
mod paths;
mod proximity;
mod queues;
mod radio_states;
mod rates;
mod reach;
mod shared_air;
mod sockets;
mod wifi;
