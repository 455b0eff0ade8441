//! What can be chosen about EVA, and what the published versions chose.
//!
//! Lines are those of EVAProtocol.kt in kotlin-ipv8: `master` at the merge of
//! pull request 71 (f983ed4), `thesis` in the branch that led to it (00517bb).

use serde::Deserialize;

use crate::contract::Seconds;

/// Before or after the changes of Koning (thesis section V, pull request 71).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Lost blocks as text ("[1, 2]"), always encrypted, transfers that wait
    /// may start twice at once ([`EvaConfig::race_window_s`]).
    Original,
    /// Lost blocks as 4-byte integers, encryption may be off, one start at a time.
    Modified,
}

/// Options of [`Eva`](super::Eva), in SI units, declared as those of
/// [`TransportConfig`](super::super::TransportConfig) are.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EvaConfig {
    /// original: lost blocks as text, always encrypted; modified: after pull request 71 of
    /// kotlin-ipv8.
    pub variant: Variant,
    /// Whether packets are sealed boxes; the original variant seals them anyway.
    #[cfg_attr(feature = "schema", schemars(extend("list" = true)))]
    pub encryption: bool,
    /// Data of a full block; more than 1289 bytes (1241 encrypted) never leave the phone.
    #[cfg_attr(feature = "schema", schemars(extend("list" = true)))]
    pub block_bytes: u32,
    /// Blocks between two acknowledgements, at first.
    #[cfg_attr(feature = "schema", schemars(extend("list" = true), range(min = 1)))]
    pub window_blocks: u32,
    /// Silence after which the receiver repeats its acknowledgement, when it next checks.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub retransmit_interval_s: Seconds,
    /// The acknowledgement is repeated one time less than this.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub retransmit_attempts: u32,
    /// How often an unanswered write request is repeated before window 1 is acknowledged.
    pub write_request_retries: u32,
    /// Silence after which either end gives up, when it next checks.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub timeout_s: Seconds,
    /// Blocks by which the window shrinks for each earlier timeout of the same message.
    pub reduce_window_after_timeout_blocks: u32,
    /// The window is never smaller, whatever `window` says.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub min_window_blocks: u32,
    /// Waiting transfers are looked at this often, and whenever one ends well or in an error.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub scheduled_send_interval_s: Seconds,
    /// Everything overdue is looked for this often.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub scheduled_tasks_check_delay_s: Seconds,
    /// When this phone first looks for either.
    #[serde(skip)]
    pub check_phase_s: Seconds,
    /// Larger messages are refused by both ends.
    pub binary_size_limit_bytes: u32,
    /// Above this many transfers of both directions new ones wait; absent: never.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub simultaneous_transfers: Option<u32>,
    /// Characters that name the application in a write request; 40 for a service id.
    #[serde(skip, default = "service_id_characters")]
    pub info_bytes: u32,
    /// Threads that call `sendto`; with more than one, packets may overtake each other.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub send_threads: u32,
    /// What `setsockopt` is asked for, half of what the kernel then counts; 0 for never asked.
    #[serde(skip)]
    pub receive_buffer_bytes: u64,
    /// How long the start of a waiting transfer overlaps with another such start (original). The code
    /// allows it, nobody has measured it.
    pub race_window_s: Seconds,
}

fn service_id_characters() -> u32 {
    SERVICE_ID_CHARACTERS
}

impl EvaConfig {
    /// The defaults at the merge of pull request 71 (lines 947-959; 10 transfers: line 35).
    pub fn master() -> Self {
        Self {
            variant: Variant::Modified,
            encryption: true,
            block_bytes: 600,
            window_blocks: 80,
            retransmit_interval_s: 2.0,
            retransmit_attempts: 3,
            write_request_retries: 3,
            timeout_s: 20.0,
            reduce_window_after_timeout_blocks: 16,
            min_window_blocks: 16,
            scheduled_send_interval_s: 5.0,
            scheduled_tasks_check_delay_s: 1.0,
            check_phase_s: 0.0,
            binary_size_limit_bytes: 250 << 20,
            simultaneous_transfers: Some(10),
            info_bytes: SERVICE_ID_CHARACTERS,
            send_threads: 1,
            receive_buffer_bytes: 0,
            race_window_s: 0.0,
        }
    }

    /// What the offline token thesis ran: the branch (lines 829-839, no repeated write
    /// request, no limit on transfers) with the prototype's options (Verifier.kt:35-43).
    ///
    /// Figure 7 had the buffer that nobody asks for, which Java reports as 106 496 B.
    pub fn thesis() -> Self {
        Self {
            encryption: false,
            block_bytes: 1200,
            window_blocks: 256,
            retransmit_interval_s: 0.150,
            write_request_retries: 0,
            timeout_s: 12.0,
            simultaneous_transfers: None,
            receive_buffer_bytes: 425_984,
            ..Self::master()
        }
    }

    /// Whether packets are sealed boxes.
    pub fn encrypts(&self) -> bool {
        self.encryption || self.variant == Variant::Original
    }

    /// The receive buffer as the kernel counts it (socket(7): it doubles what is asked
    /// for); `None` for the system's default.
    pub fn kernel_buffer_bytes(&self) -> Option<u64> {
        (self.receive_buffer_bytes > 0).then_some(2 * self.receive_buffer_bytes)
    }

    /// The window of a message that has timed out `timeouts` times.
    pub(super) fn window_after(&self, timeouts: u32) -> u32 {
        let cut = timeouts.saturating_mul(self.reduce_window_after_timeout_blocks);
        let window = self.window_blocks.saturating_sub(cut);
        window.max(self.min_window_blocks)
    }

    /// When what is due at `due_s` is found to be.
    pub(super) fn found_s(&self, due_s: Seconds) -> Seconds {
        let interval_s = self.scheduled_tasks_check_delay_s;
        let checks = ((due_s - self.check_phase_s) / interval_s).ceil();
        // Rounding may put the check a hair before what it is to find.
        due_s.max(self.check_phase_s + checks.max(0.0) * interval_s)
    }

    /// When waiting transfers are next looked at, strictly after `now`.
    pub(super) fn next_start_s(&self, now: Seconds) -> Seconds {
        let interval_s = self.scheduled_send_interval_s;
        let rounds = ((now - self.check_phase_s) / interval_s).floor() + 1.0;
        let next_s = self.check_phase_s + rounds.max(0.0) * interval_s;
        // Rounding may name the present one again.
        match next_s > now {
            true => next_s,
            false => next_s + interval_s,
        }
    }

    /// Fails loudly for what a scenario should have refused.
    ///
    /// # Panics
    /// For options that no transfer could end with.
    pub(super) fn check(&self) {
        assert!(self.block_bytes > 0, "a block holds something");
        assert!(self.min_window_blocks > 0, "a window holds something");
        assert!(self.send_threads > 0, "somebody calls sendto");
        let intervals = [
            self.scheduled_send_interval_s,
            self.scheduled_tasks_check_delay_s,
            self.retransmit_interval_s,
            self.timeout_s,
        ];
        assert!(intervals.iter().all(|s| *s > 0.0), "time goes forward");
    }
}

/// A service id in hexadecimal (Community.kt: 20 bytes).
const SERVICE_ID_CHARACTERS: u32 = 40;

#[cfg(test)]
mod tests {
    use super::EvaConfig;

    #[test]
    fn checks_and_looks_come_at_their_intervals_and_not_before() {
        for k in 0..2000 {
            let config = EvaConfig {
                check_phase_s: f64::from(k) * -0.0025,
                ..EvaConfig::thesis()
            };
            let due_s = f64::from(k) * 0.007;
            let found_s = config.found_s(due_s);
            assert!((due_s..due_s + 1.0 + 1e-9).contains(&found_s), "{due_s}");
            let start_s = config.next_start_s(due_s);
            assert!(due_s < start_s && start_s <= due_s + 5.0 + 1e-9, "{due_s}");
            // From one look to the next, also where rounding names the present one again.
            let next_s = config.next_start_s(start_s);
            assert!((next_s - start_s - 5.0).abs() < 1e-6, "{start_s}");
        }
    }

    #[test]
    fn what_is_due_a_hair_after_a_check_is_not_found_before() {
        for k in 0..2000 {
            let config = EvaConfig {
                check_phase_s: (f64::from(k) * 0.618).fract() * -5.0,
                scheduled_tasks_check_delay_s: 0.1,
                ..EvaConfig::thesis()
            };
            let check_s = config.found_s(f64::from(k) * 0.01);
            let due_s = check_s * (1.0 + f64::EPSILON);
            assert!(config.found_s(due_s) >= due_s, "{due_s}");
        }
    }

    #[test]
    fn a_phone_that_starts_later_checks_nothing_before() {
        let config = EvaConfig {
            check_phase_s: 3.5,
            ..EvaConfig::thesis()
        };
        assert_eq!(
            [0.0, 3.5, 3.6].map(|due_s| config.found_s(due_s)),
            [3.5, 3.5, 4.5]
        );
        assert_eq!(config.next_start_s(0.0), 3.5);
    }
}
