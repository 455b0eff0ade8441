//! The door to Python, and protocols that users bring.
//!
//! What deliberately does not live here: what a run is ([`crate::run`]).

#[cfg(any(test, feature = "python"))]
pub(crate) mod checked;
#[cfg(feature = "python")]
pub(crate) mod custom_failures;
#[cfg(feature = "python")]
pub mod custom_machine;
#[cfg(feature = "python")]
pub(crate) mod custom_outputs;
pub mod custom_phone;
#[cfg(feature = "python")]
pub(crate) mod custom_policy;
#[cfg(feature = "python")]
pub(crate) mod custom_protocol;
#[cfg(feature = "python")]
pub(crate) mod python;
