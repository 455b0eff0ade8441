//! What operations cost on a phone, and what makes them cost more or less for a while.
//!
//! What deliberately does not live here: how long work takes when cores are shared
//! ([`crate::resources`]).

pub(crate) mod after_rest;
pub(crate) mod idle;
pub mod table;
