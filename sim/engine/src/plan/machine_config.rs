//! From the options of a plan to those of machines.
//!
//! What options mean is the machines'.

use pocketsim_protocols::compute::{ComputeConfig, Task};
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};
use pocketsim_protocols::trustchain::Retries;

use crate::base::rng::Stream;
use crate::plan;

impl From<&plan::Transport> for TransportConfig {
    fn from(transport: &plan::Transport) -> Self {
        Self {
            // Only QUIC has either.
            mode: if transport.mode == "quic_reconnect" {
                ConnectionMode::Reconnect
            } else {
                ConnectionMode::Keep
            },
            ..transport.options
        }
    }
}

impl TryFrom<&plan::Compute> for ComputeConfig {
    type Error = String;

    fn try_from(options: &plan::Compute) -> Result<Self, String> {
        let named = |task: &&Task| task.name() == options.task;
        let Some(&task) = Task::ALL.iter().find(named) else {
            return Err(format!("unknown task {:?}", options.task));
        };
        Ok(Self {
            task,
            threads: options.threads,
            count: options.count,
            bytes: options.payload_bytes,
            tokens: options.tokens,
            recipients: options.recipients,
        })
    }
}

impl From<&plan::Retries> for Retries {
    fn from(options: &plan::Retries) -> Self {
        Self {
            attempts: options.attempts,
            first_wait_s: options.first_wait_s,
            factor: options.factor,
            longest_wait_s: options.longest_wait_s,
            jitter: options.jitter,
            deadline_s: options.deadline_s,
            kept_while_off: options.while_off == "kept",
        }
    }
}

/// The options that differ from phone to phone.
pub(crate) fn of_phone(
    config: TransportConfig,
    options: &plan::Transport,
    seed: u64,
    node: u32,
) -> TransportConfig {
    let phase = Stream::new(seed, "poll phase", node).uniform();
    let at = node as usize;
    TransportConfig {
        poll_phase_s: phase * config.poll_interval_s,
        duplicate_dial_s: options.duplicate_dial_s[at],
        connection_break_s: options.connection_break_s[at],
        ..config
    }
}
