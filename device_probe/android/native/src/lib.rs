//! The device probe as a library for its Android app: one activity at a time is begun, looked at,
//! stopped and read out, all in JSON.
//!
//! | module | what lives there |
//! |---|---|
//! | [`request`] | what the app asks for |
//! | [`session`] | one activity on a thread of its own, and the table of those that there are |
//! | [`status`] | how far it is |
//! | [`qr`] | a text as a QR code |
//! | `surface` | the functions that Java calls; all that knows JNI |
//!
//! What deliberately does not live here: anything that measures or trades, which is the core's, and
//! anything that is shown, which is the app's.

pub mod qr;
pub mod request;
pub mod session;
pub mod status;

#[cfg(target_os = "android")]
mod layouts;
mod surface;
