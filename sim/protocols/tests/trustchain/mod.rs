//! The TrustChain agent: its rules one by one, and random histories of many agents.

mod agents;
mod histories;
mod retries;
mod rules;
