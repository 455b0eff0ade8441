//! From the options of a plan to those of machines.
//!
//! What options mean is the machines'.

use pocketsim_protocols::compute::{ComputeConfig, Task};
use pocketsim_protocols::transport::eva::{EvaConfig, Variant};
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

use crate::base::rng::Stream;
use crate::plan;

impl From<&plan::Transport> for TransportConfig {
    fn from(options: &plan::Transport) -> Self {
        Self {
            // Only QUIC has either.
            mode: if options.mode == "quic_reconnect" {
                ConnectionMode::Reconnect
            } else {
                ConnectionMode::Keep
            },
            poll_interval_s: options.poll_interval_s,
            connect_timeout_s: options.connect_timeout_s,
            idle_timeout_s: options.idle_timeout_s,
            keep_alive_s: options.keep_alive_s,
            relay_first: options.relay_first,
            answer_on_same_connection: options.answer_on_same_connection,
            answer_on_same_stream: options.answer_on_same_stream,
            ack_bundling: options.ack_bundling,
            path_management: options.path_management,
            socket_timeout_s: options.socket_timeout_s,
            ..Self::default()
        }
    }
}

impl TryFrom<&plan::Eva> for EvaConfig {
    type Error = String;

    fn try_from(options: &plan::Eva) -> Result<Self, String> {
        let variant = match options.variant.as_str() {
            "original" => Variant::Original,
            "modified" => Variant::Modified,
            other => return Err(format!("unknown variant of EVA {other:?}")),
        };
        Ok(Self {
            variant,
            encryption: options.encryption,
            block_bytes: options.block_bytes,
            window_blocks: options.window_blocks,
            retransmit_interval_s: options.retransmit_interval_s,
            retransmit_attempts: options.retransmit_attempts,
            write_request_retries: options.write_request_retries,
            timeout_s: options.timeout_s,
            reduce_window_after_timeout_blocks: options.reduce_window_after_timeout_blocks,
            min_window_blocks: options.min_window_blocks,
            scheduled_send_interval_s: options.scheduled_send_interval_s,
            scheduled_tasks_check_delay_s: options.scheduled_tasks_check_delay_s,
            binary_size_limit_bytes: options.binary_size_limit_bytes,
            simultaneous_transfers_max: options.simultaneous_transfers.unwrap_or(u32::MAX),
            send_threads: options.send_threads,
            race_window_s: options.race_window_s,
            ..Self::thesis()
        })
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
