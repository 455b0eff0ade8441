//! The driver in worlds that a test makes: closed forms, toy machines, plans that are refused.

mod blocking;
mod closed_forms;
mod loops;
mod payments;
mod plan_errors;
mod simultaneous;
mod toy;
