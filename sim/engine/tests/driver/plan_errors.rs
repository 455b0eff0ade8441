//! Plans that name what nobody knows are refused with that name, before anything runs.

use _engine::plan::{Compute, Eva, Phones, Plan, Tokens};

use _engine::run::{run, Hooks};
use pocketsim_protocols::compute::{ComputeConfig, Task};
use pocketsim_protocols::transport::eva::{EvaConfig, Variant};
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

/// Why the plan is refused; one that is not would make this process's one engine.
fn refusal(plan: Plan) -> String {
    let result = run(plan, Hooks::default());
    result.expect_err("the plan is refused")
}

fn of_family(kind: &str, crypto: &str) -> Plan {
    let mut plan = crate::common::plan(2);
    plan.protocol.kind = kind.into();
    plan.protocol.crypto = crypto.into();
    plan
}

fn eva() -> Eva {
    Eva {
        variant: "original".into(),
        encryption: true,
        block_bytes: 1,
        window_blocks: 2,
        retransmit_interval_s: 3.0,
        retransmit_attempts: 4,
        write_request_retries: 5,
        timeout_s: 6.0,
        reduce_window_after_timeout_blocks: 7,
        min_window_blocks: 8,
        scheduled_send_interval_s: 9.0,
        scheduled_tasks_check_delay_s: 10.0,
        binary_size_limit_bytes: 11,
        simultaneous_transfers: Some(12),
        send_threads: 13,
        race_window_s: 14.0,
    }
}

fn computing(task: &str) -> Compute {
    Compute {
        task: task.into(),
        threads: 1,
        count: 2,
        payload_bytes: 3,
        tokens: 4,
        recipients: 5,
    }
}

/// A town of a person and the authority.
fn town() -> Plan {
    let mut plan = of_family("tokens", "counted");
    plan.phones.role[1] = Phones::AUTHORITY;
    plan.protocol.tokens = Some(Tokens {
        rules: "thesis".into(),
        handshake: "challenge".into(),
        acceptance: "offline".into(),
        recipients_max: 8,
        settle_interval_s: 60.0,
        payment_timeout_s: 10.0,
        person_wallet_cents: 1000,
        person_low_cents: 100,
        shop_till_cents: 1000,
        batch_tokens: 10,
    });
    plan
}

fn town_where(change: impl FnOnce(&mut Tokens)) -> Plan {
    let mut plan = town();
    change(plan.protocol.tokens.as_mut().expect("a town has options"));
    plan
}

#[test]
fn an_unknown_protocol_is_named() {
    let refused = refusal(of_family("gossip", "counted"));
    assert_eq!(refused, "unknown protocol \"gossip\"");
}

#[test]
fn an_unknown_crypto_provider_is_named_where_one_is_needed() {
    for family in ["trustchain", "token_batch", "tokens"] {
        let refused = refusal(of_family(family, "rot13"));
        assert_eq!(refused, "unknown crypto provider \"rot13\"", "{family}");
    }
}

#[test]
fn flows_without_a_library_of_simgrid_are_refused() {
    let mut plan = crate::common::plan(2);
    plan.simgrid_library = None;
    assert_eq!(
        refusal(plan.clone()),
        "flows need SimGrid, and the plan names no library of it"
    );
    plan.simgrid_library = Some("/there/is/none.so".into());
    assert!(refusal(plan).contains("/there/is/none.so"));
}

#[test]
fn an_unknown_fidelity_is_named() {
    let mut plan = crate::common::plan(2);
    plan.fidelity = "exact".into();
    assert_eq!(refusal(plan), "unknown fidelity \"exact\"");
}

#[test]
fn an_unknown_transport_is_named_whatever_runs_on_it() {
    for family in ["trustchain", "token_batch", "transfer", "pairwise"] {
        let mut plan = of_family(family, "counted");
        plan.transport.mode = "pigeon".into();
        assert_eq!(refusal(plan), "unknown transport \"pigeon\"", "{family}");
    }
    let mut plan = town();
    plan.transport.mode = "pigeon".into();
    assert_eq!(refusal(plan), "unknown transport \"pigeon\"");
}

#[test]
fn eva_needs_its_options_and_a_known_variant() {
    let mut plan = of_family("transfer", "counted");
    plan.transport.mode = "eva".into();
    assert_eq!(refusal(plan.clone()), "eva has no options");
    plan.transport.eva = Some(Eva {
        variant: "future".into(),
        ..eva()
    });
    assert_eq!(refusal(plan), "unknown variant of EVA \"future\"");
}

#[test]
fn compute_needs_its_options_and_a_known_task() {
    let mut plan = of_family("compute", "counted");
    assert_eq!(refusal(plan.clone()), "compute has no options");
    plan.protocol.compute = Some(computing("mine"));
    assert_eq!(refusal(plan), "unknown task \"mine\"");
}

#[test]
fn a_town_needs_its_options_and_one_authority() {
    let plan = of_family("tokens", "counted");
    assert_eq!(refusal(plan), "protocol tokens has no options");
    for role in [0, Phones::SHOP] {
        let mut plan = town();
        plan.phones.role[1] = role;
        assert_eq!(refusal(plan), "a town has one authority");
    }
    let mut plan = town();
    plan.phones.role[0] = Phones::AUTHORITY;
    assert_eq!(refusal(plan), "a town has one authority");
}

#[test]
fn a_towns_unknown_options_are_named() {
    for plan in [
        town_where(|of| of.rules = "loose".into()),
        town_where(|of| of.handshake = "loose".into()),
        town_where(|of| of.acceptance = "loose".into()),
    ] {
        assert_eq!(refusal(plan), "unknown option of tokens \"loose\"");
    }
}

#[test]
fn options_of_a_transport_reach_its_machine() {
    let mut options = crate::common::plan(2).transport;
    options.poll_interval_s = 0.125;
    options.connect_timeout_s = 1.0;
    options.idle_timeout_s = 2.0;
    options.keep_alive_s = 3.0;
    options.socket_timeout_s = 4.0;
    options.relay_first = false;
    options.answer_on_same_connection = true;
    options.answer_on_same_stream = true;
    options.ack_bundling = true;
    options.path_management = true;
    let config = TransportConfig::from(&options);
    let expected = TransportConfig {
        mode: ConnectionMode::Keep,
        poll_interval_s: 0.125,
        connect_timeout_s: 1.0,
        idle_timeout_s: 2.0,
        keep_alive_s: 3.0,
        socket_timeout_s: 4.0,
        relay_first: false,
        answer_on_same_connection: true,
        answer_on_same_stream: true,
        ack_bundling: true,
        path_management: true,
        ..TransportConfig::default()
    };
    assert_eq!(config, expected);
    for (mode, expected) in [
        ("quic_keep", ConnectionMode::Keep),
        ("quic_reconnect", ConnectionMode::Reconnect),
    ] {
        options.mode = mode.into();
        assert_eq!(TransportConfig::from(&options).mode, expected);
    }
}

#[test]
fn options_of_eva_reach_its_machine() {
    let config = EvaConfig::try_from(&eva()).expect("a known variant");
    let expected = EvaConfig {
        variant: Variant::Original,
        encryption: true,
        block_bytes: 1,
        window_blocks: 2,
        retransmit_interval_s: 3.0,
        retransmit_attempts: 4,
        write_request_retries: 5,
        timeout_s: 6.0,
        reduce_window_after_timeout_blocks: 7,
        min_window_blocks: 8,
        scheduled_send_interval_s: 9.0,
        scheduled_tasks_check_delay_s: 10.0,
        binary_size_limit_bytes: 11,
        simultaneous_transfers_max: 12,
        send_threads: 13,
        race_window_s: 14.0,
        ..EvaConfig::thesis()
    };
    assert_eq!(config, expected);
}

#[test]
fn eva_without_a_limit_of_transfers_has_none() {
    let options = Eva {
        variant: "modified".into(),
        simultaneous_transfers: None,
        ..eva()
    };
    let config = EvaConfig::try_from(&options).expect("a known variant");
    assert_eq!(config.variant, Variant::Modified);
    assert_eq!(config.simultaneous_transfers_max, u32::MAX);
}

#[test]
fn every_task_is_known_by_its_name() {
    for &task in Task::ALL {
        let config = ComputeConfig::try_from(&computing(task.name())).expect("a known task");
        assert_eq!(config.task, task);
        let numbers = (config.threads, config.count, config.bytes);
        assert_eq!(numbers, (1, 2, 3));
        assert_eq!((config.tokens, config.recipients), (4, 5));
    }
}
