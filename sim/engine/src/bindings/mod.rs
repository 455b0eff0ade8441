//! The door to Python, and protocols that users bring.
//!
//! What deliberately does not live here: what a run is ([`crate::run`]).

#[cfg(any(test, feature = "python"))]
pub(crate) mod checked;
#[cfg(feature = "python")]
pub(crate) mod own_failures;
#[cfg(feature = "python")]
pub mod own_machine;
#[cfg(feature = "python")]
pub(crate) mod own_outputs;
pub mod own_phone;
#[cfg(feature = "python")]
pub(crate) mod own_policy;
#[cfg(feature = "python")]
pub(crate) mod own_protocol;
#[cfg(feature = "python")]
pub(crate) mod python;
