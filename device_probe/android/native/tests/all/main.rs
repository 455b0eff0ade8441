//! What the app asks of the library: its activities, what it reads of them, and its QR codes.

mod qr;
mod request;
mod session;
mod status;
