//! Payments with offline tokens between machines: one mechanism at a time, and random histories.

mod authority;
mod bounds;
mod histories;
mod late;
mod mechanisms;
mod sizes;
mod town;
