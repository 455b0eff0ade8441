//! Plans that name what nobody knows are refused with that name, before anything runs.

use _engine::plan::{Compute, Phones, Plan, Tokens};

use _engine::run::{run, Hooks};
use pocketsim_protocols::compute::{ComputeConfig, Task};
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
fn eva_needs_its_options() {
    let mut plan = of_family("transfer", "counted");
    plan.transport.mode = "eva".into();
    assert_eq!(refusal(plan), "eva has no options");
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
    let mut transport = crate::common::plan(2).transport;
    transport.options.keep_alive_s = 3.0;
    for (mode, expected) in [
        ("quic_keep", ConnectionMode::Keep),
        ("quic_reconnect", ConnectionMode::Reconnect),
    ] {
        transport.mode = mode.into();
        let config = TransportConfig {
            mode: expected,
            ..transport.options
        };
        assert_eq!(TransportConfig::from(&transport), config);
    }
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
