//! What operations cost in time, and what a run costs in energy.

mod costs;
mod energy;
