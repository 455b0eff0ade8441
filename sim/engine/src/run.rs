//! One run: from a plan to machines, through the driver, to a trace.
//!
//! The only file that knows protocol families and transports by name.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use pocketsim_protocols::compute::{Compute, ComputeConfig};
use pocketsim_protocols::contract::{Application, NodeId, Seconds, Transport};
use pocketsim_protocols::crypto::{self, Counted, Crypto, Real};
use pocketsim_protocols::pairwise::Pairwise;
use pocketsim_protocols::token_batch::{self, TokenBatch};
use pocketsim_protocols::transfer::Transfer;
use pocketsim_protocols::transport::eva::{Eva, EvaConfig};
use pocketsim_protocols::transport::ipv8::Ipv8;
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::tftp::Tftp;
use pocketsim_protocols::transport::udp::Udp;
use pocketsim_protocols::transport::TransportConfig;
use pocketsim_protocols::trustchain::{Agent, AgentConfig, Retries};

use crate::base::progress::Progress;
use crate::base::rng::Stream;
use crate::driver::habits::Habits;
use crate::driver::Driver;
use crate::families::final_blocks::FinalBlocks;
use crate::families::final_state::FinalState;
use crate::families::final_tokens::FinalTokens;
use crate::families::town::Town;
use crate::phone::battery::BatterySummary;
use crate::phone::keepalive::upkeep::Find;
use crate::phone::policy::Policy;
use crate::plan::machine_config;
use crate::plan::Plan;
use crate::record::paths::ReachSummary;
use crate::record::trace::Trace;
use crate::resources::any_world::AnyWorld;
use crate::resources::queue_delay::QueueDelays;
use crate::resources::simgrid;

/// What a run leaves behind.
#[derive(Debug)]
pub struct RunResult {
    /// Rows and counters.
    pub trace: Trace,
    /// Simulated time reached, seconds.
    pub clock_s: Seconds,
    /// Wall-clock time of the replay loop alone, seconds; never part of a result.
    pub wall_s: f64,
    /// What phones spent, joules by component; empty if the plan does not ask.
    pub energy_j: BTreeMap<&'static str, f64>,
    /// The same by number of the access network or of the kind of link.
    pub energy_by_part_j: BTreeMap<&'static str, Vec<f64>>,
    /// What batteries came to; none where phones have none.
    pub battery: Option<BatterySummary>,
    /// How long datagrams waited in the queues of radios; none of fidelity `flow`.
    pub waits: Option<QueueDelays>,
    /// Who reached whom how; none where the plan limits neither that nor the relay.
    pub reach: Option<ReachSummary>,
    /// What the applications say at the end.
    pub final_state: FinalState,
    /// Kinds of rows beside those of everybody's, by number after them.
    pub own_kinds: Vec<String>,
}

/// What a run asks and tells beside its plan.
#[derive(Default)]
pub struct Hooks {
    /// Hears how far it is.
    pub progress: Progress,
    /// Says when messages are handed to transports; at once without one.
    pub policy: Option<Box<dyn Policy>>,
    /// Finds what kept connections do in silence; nobody does without one.
    pub(crate) find: Option<Find>,
}

/// Runs `plan`; one of fidelity `flow` in this process's one SimGrid engine.
///
/// # Errors
/// When the plan names a protocol, crypto provider or transport that is not known, or a library of
/// SimGrid that does not load.
pub fn run(plan: Plan, hooks: Hooks) -> Result<RunResult, String> {
    let (family, provider) = (plan.protocol.kind.clone(), plan.protocol.crypto.clone());
    match (family.as_str(), provider.as_str()) {
        ("trustchain", "counted") => trustchain::<Counted>(plan, hooks),
        ("trustchain", "real") => trustchain::<Real>(plan, hooks),
        ("token_batch", "counted") => token_batch::<Counted>(plan, hooks),
        ("token_batch", "real") => token_batch::<Real>(plan, hooks),
        ("tokens", "counted") => tokens::<Counted>(plan, hooks),
        ("tokens", "real") => tokens::<Real>(plan, hooks),
        ("transfer", _) => over(plan, hooks, |node| Transfer::new(NodeId(node)), no_indices),
        ("compute", _) => compute(plan, hooks),
        ("pairwise", _) => over(plan, hooks, |node| Pairwise::new(NodeId(node)), no_indices),
        ("trustchain" | "token_batch" | "tokens", other) => {
            Err(format!("unknown crypto provider {other:?}"))
        }
        ("python" | "rust", _) => Err("it is somebody's own, who has to make it".to_owned()),
        (other, _) => Err(format!("unknown protocol {other:?}")),
    }
}

/// Runs `plan` with applications that somebody else makes.
///
/// # Errors
/// As [`run`].
#[cfg(feature = "python")]
pub(crate) fn of_applications<A: Application>(
    plan: Plan,
    hooks: Hooks,
    make: impl FnMut(u32) -> A,
) -> Result<RunResult, String> {
    over(plan, hooks, make, no_indices)
}

fn trustchain<C: Crypto + 'static>(plan: Plan, hooks: Hooks) -> Result<RunResult, String> {
    let count = plan.phones.profile.len() as u32;
    let keys = crypto::directory::<C>(plan.seed, count);
    let (seed, duplicate_window_s) = (plan.seed, plan.protocol.duplicate_window_s);
    let keep_blocks = plan.trace.blocks;
    let retries = plan.protocol.retries.as_ref().map(Retries::from);
    let first_index = plan.phones.first_index.clone();
    // One app goes on on every phone or on none: a countersigner has a chain
    // although its own proposals start at 1.
    let has_history = first_index.iter().any(|&index| index > 1);
    let make = move |node: u32| {
        let first_index = first_index[node as usize];
        let config = AgentConfig {
            first_index,
            has_history,
            duplicate_window_s,
            keep_blocks,
            ..AgentConfig::default()
        };
        let agent = Agent::new(
            C::new(seed, NodeId(node)),
            NodeId(node),
            keys.clone(),
            config,
        );
        let Some(retries) = retries else {
            return agent;
        };
        let mut chance = Stream::new(seed, "retry", node);
        agent.with_retries(retries, Box::new(move || chance.uniform()))
    };
    over(plan, hooks, make, move |agents| FinalState {
        blocks: keep_blocks.then(|| FinalBlocks::of(agents)),
        counters: repeated(agents),
        ..FinalState::indices(agents, Agent::next_index)
    })
}

/// How often all agents sent proposals and answers again; what never happened is left out.
fn repeated<C: Crypto>(agents: &[Agent<C>]) -> BTreeMap<&'static str, u64> {
    let all = agents.iter().map(Agent::repeated);
    let (proposals, answers) = all.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let found = [
        ("proposals_repeated", proposals),
        ("answers_repeated", answers),
    ];
    found.into_iter().filter(|&(_, count)| count > 0).collect()
}

fn token_batch<C: Crypto + 'static>(plan: Plan, hooks: Hooks) -> Result<RunResult, String> {
    let (seed, count) = (plan.seed, plan.phones.profile.len() as u32);
    let keys = token_batch::keys::<C>(seed, count);
    let make = move |node: u32| {
        let crypto = C::new(seed, NodeId(node));
        TokenBatch::new(crypto, NodeId(node), keys.clone())
    };
    over(plan, hooks, make, no_indices)
}

fn tokens<C: Crypto>(plan: Plan, hooks: Hooks) -> Result<RunResult, String> {
    let town = Rc::new(Town::new::<C>(&plan)?);
    let (made, wants_tokens) = (town.clone(), plan.trace.tokens);
    let make = move |node| made.participant::<C>(node);
    over(plan, hooks, make, move |participants| FinalState {
        tokens: wants_tokens.then(|| FinalTokens::of(participants, town.authority())),
        ..town.final_state(participants)
    })
}

fn no_indices<A>(applications: &[A]) -> FinalState {
    FinalState::indices(applications, |_| 0)
}

fn compute(plan: Plan, hooks: Hooks) -> Result<RunResult, String> {
    let options = plan.protocol.compute.as_ref();
    let config = ComputeConfig::try_from(options.ok_or("compute has no options")?)?;
    over(
        plan,
        hooks,
        |node| Compute::new(NodeId(node), config),
        no_indices,
    )
}

/// Chooses the transport; each pair of machines is an instance of the driver of its own.
fn over<A: Application>(
    plan: Plan,
    hooks: Hooks,
    make: impl FnMut(u32) -> A,
    final_state: impl FnOnce(&[A]) -> FinalState,
) -> Result<RunResult, String> {
    let mut config = TransportConfig::from(&plan.transport);
    // A connection for one message waits for its answer, and only a trade has one for each.
    let answers = plan.protocol.kind == "trustchain" || plan.transport.mode == "quic_keep";
    config.answer_on_same_connection &= answers;
    config.answer_on_same_stream &= config.answer_on_same_connection;
    let trust_s = plan
        .nats
        .as_ref()
        .map(|nats| nats.hole_punching.path_trust_s);
    if let Some(trust_s) = trust_s.filter(|&trust_s| trust_s > 0.0) {
        config.path_trust_s = trust_s;
    }
    let (seed, options) = (plan.seed, plan.transport.clone());
    let hooks = Hooks {
        find: (options.mode == "quic_keep").then(|| find(&plan, config)),
        ..hooks
    };
    let config = move |node: u32| machine_config::of_phone(config, &options, seed, node);
    match plan.transport.mode.as_str() {
        // Machines that send nothing need one all the same.
        "udp" | "none" => drive(
            plan,
            hooks,
            make,
            |node| Udp::new(&config(node)),
            final_state,
        ),
        "quic_keep" | "quic_reconnect" => {
            let new = |node| Quic::new(&config(node), NodeId(node));
            drive(plan, hooks, make, new, final_state)
        }
        "tftp" => drive(plan, hooks, make, |_| Tftp::new(), final_state),
        "ipv8" | "ipv8_sealed" => {
            let sealed = plan.transport.mode == "ipv8_sealed";
            drive(plan, hooks, make, |_| Ipv8::new(sealed), final_state)
        }
        "eva" => {
            let config = plan.transport.eva.ok_or("eva has no options")?;
            let new = |node| Eva::new(&eva_phone(config, seed, node));
            drive(plan, hooks, make, new, final_state)
        }
        other => Err(format!("unknown transport {other:?}")),
    }
}

fn find(plan: &Plan, config: TransportConfig) -> Find {
    let habits = Habits::new(plan, config);
    Box::new(move |networks| habits.find(networks))
}

fn drive<A: Application, T: Transport<A::Block>>(
    plan: Plan,
    hooks: Hooks,
    mut application: impl FnMut(u32) -> A,
    mut transport: impl FnMut(u32) -> T,
    final_state: impl FnOnce(&[A]) -> FinalState,
) -> Result<RunResult, String> {
    let end_s = plan.duration_s;
    let world = AnyWorld::new(&plan)?;
    let has_flows = matches!(world, AnyWorld::Flow(_));
    let mut driver = Driver::new(plan, world, |node| (application(node), transport(node)));
    if let Some(find) = hooks.find {
        driver.learn(find);
    }
    driver.watch(hooks.progress);
    if let Some(policy) = hooks.policy {
        driver.govern(policy);
    }
    let start = Instant::now();
    if has_flows {
        simgrid::run(&mut driver, end_s);
    } else {
        driver.run(end_s);
    }
    let wall_s = start.elapsed().as_secs_f64();
    let clock_s = driver.clock_s();
    let (energy_j, energy_by_part_j) = (driver.energy_j(), driver.energy_by_part_j());
    let battery = driver.battery_summary();
    let waits = driver.waits();
    let reach = driver.reach_summary(end_s);
    let (trace, applications) = driver.finish();
    Ok(RunResult {
        trace,
        clock_s,
        wall_s,
        energy_j,
        energy_by_part_j,
        battery,
        waits,
        reach,
        final_state: final_state(&applications),
        own_kinds: Vec::new(),
    })
}

/// Phones did not start their app in the same second.
fn eva_phone(config: EvaConfig, seed: u64, node: u32) -> EvaConfig {
    let phase = Stream::new(seed, "eva phase", node).uniform();
    EvaConfig {
        check_phase_s: -phase * config.scheduled_send_interval_s,
        ..config
    }
}
