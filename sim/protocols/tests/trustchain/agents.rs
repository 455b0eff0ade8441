//! A world of agents whose letters lie on a table until a test picks them up.

use pocketsim_protocols::block::Block;
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::{directory, Counted, Crypto, Real};
use pocketsim_protocols::trustchain::{Agent, AgentConfig, Retries};

pub const SEED: u64 = 7;
pub const ALICE: NodeId = NodeId(0);
pub const BOB: NodeId = NodeId(1);
pub const CAROL: NodeId = NodeId(2);

#[derive(Clone, Copy, Debug)]
pub struct Letter {
    pub from: NodeId,
    pub to: NodeId,
    pub block: Block,
}

/// What of an output does not depend on the crypto provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Work(NodeId, Operation, u32),
    Event(NodeId, Event),
    Send(NodeId, NodeId, u32),
}

pub struct World<C> {
    pub agents: Vec<Agent<C>>,
    pub table: Vec<Letter>,
    pub log: Vec<Step>,
    pub now: Seconds,
}

impl<C: Crypto> World<C> {
    pub fn new(count: u32) -> Self {
        Self::with(count, AgentConfig::default())
    }

    pub fn with(count: u32, config: AgentConfig) -> Self {
        let keys = directory::<C>(SEED, count);
        let agent = |node| Agent::new(C::new(SEED, node), node, keys.clone(), config);
        Self {
            agents: (0..count).map(|node| agent(NodeId(node))).collect(),
            table: Vec::new(),
            log: Vec::new(),
            now: 0.0,
        }
    }

    /// Agents that send again, each with what it draws: 0, 0.5, 0, and so on.
    pub fn retrying(count: u32, config: AgentConfig, retries: Retries) -> Self {
        let mut world = Self::with(count, config);
        let with_retries = |agent: Agent<C>| {
            let mut draw = 0.5;
            let chance = move || {
                draw = 0.5 - draw;
                draw
            };
            agent.with_retries(retries, Box::new(chance))
        };
        world.agents = world.agents.into_iter().map(with_retries).collect();
        world
    }

    /// Time goes on to `now`, and everybody is woken who wants to be by then, when it is due.
    pub fn wait_until(&mut self, now: Seconds) {
        loop {
            let due = |node: usize| Some((self.agents[node].next_timeout()?.0, node));
            let next = (0..self.agents.len()).filter_map(due);
            let next = next.min_by(|one, other| one.0.total_cmp(&other.0));
            let Some((date, node)) = next.filter(|&(date, _)| date <= now) else {
                break;
            };
            self.now = date.max(self.now);
            self.wake(NodeId(node as u32));
        }
        self.now = now;
    }

    /// A node is told that its time has come.
    pub fn wake(&mut self, node: NodeId) {
        let mut out = Vec::new();
        self.agents[node.0 as usize].handle_timeout(self.now, &mut out);
        self.take(node, out);
    }

    /// A node goes off, with nothing under way; returns how many proposals it keeps.
    pub fn shut_down(&mut self, node: NodeId, unmade: &[MessageId]) -> usize {
        let mut out = Vec::new();
        let kept = self.agents[node.0 as usize].shut_down(unmade, &mut out);
        self.take(node, out);
        kept
    }

    pub fn transact(&mut self, from: NodeId, peer: NodeId, payload_bytes: u32) {
        let request = AppRequest::Transact {
            peer,
            payload_bytes,
        };
        self.command(from, request);
    }

    /// The transport tells the sender that its letter will not arrive.
    pub fn bounce(&mut self, letter: Letter, reason: Reason) {
        let request = AppRequest::Undelivered {
            to: letter.to,
            payload: letter.block,
            reason,
        };
        self.command(letter.from, request);
    }

    pub fn command(&mut self, node: NodeId, request: AppRequest<Block>) {
        let mut out = Vec::new();
        self.agents[node.0 as usize].command(request, self.now, &mut out);
        self.take(node, out);
    }

    pub fn hand(&mut self, letter: Letter) {
        let mut out = Vec::new();
        let Letter { from, to, block } = letter;
        self.agents[to.0 as usize].receive(from, block, self.now, &mut out);
        self.take(to, out);
    }

    pub fn hand_bytes(&mut self, from: NodeId, to: NodeId, bytes: &[u8]) {
        let mut out = Vec::new();
        self.agents[to.0 as usize].receive_bytes(from, bytes, self.now, &mut out);
        self.take(to, out);
    }

    /// Hand over the oldest letter; false if the table is empty.
    pub fn hand_next(&mut self) -> bool {
        let any = !self.table.is_empty();
        if any {
            let letter = self.table.remove(0);
            self.hand(letter);
        }
        any
    }

    pub fn settle(&mut self) {
        while self.hand_next() {}
    }

    /// A whole transaction, alone.
    pub fn trade(&mut self, from: NodeId, to: NodeId) {
        self.transact(from, to, 128);
        self.settle();
    }

    /// A proposal that lies on the table, taken up.
    pub fn proposal(&mut self, from: NodeId, to: NodeId) -> Letter {
        self.transact(from, to, 128);
        self.table.pop().expect("a proposal")
    }

    /// An answer that lies on the table, taken up.
    pub fn answer(&mut self, proposal: Letter) -> Letter {
        self.hand(proposal);
        self.table.pop().expect("an answer")
    }

    pub fn events(&self) -> Vec<Event> {
        let event = |step: &Step| match step {
            Step::Event(_, event) => Some(*event),
            _ => None,
        };
        self.log.iter().filter_map(event).collect()
    }

    pub fn count(&self, kind: EventKind) -> usize {
        self.events()
            .iter()
            .filter(|event| event.kind == kind)
            .count()
    }

    /// Names of the steps since the log was last cleared.
    pub fn steps(&self) -> Vec<&'static str> {
        let name = |step: &Step| match step {
            Step::Work(_, operation, _) => operation.name(),
            Step::Event(_, event) => event.kind.name(),
            Step::Send(..) => "->",
        };
        self.log.iter().map(name).collect()
    }

    /// Every refusal so far; the counters must say the same as the events.
    pub fn refusals(&self) -> Vec<Reason> {
        let refused = |event: &Event| match event.kind {
            EventKind::Refuse => event.reason,
            _ => None,
        };
        let reasons: Vec<Reason> = self.events().iter().filter_map(refused).collect();
        for &reason in Reason::ALL {
            let observed = reasons.iter().filter(|&&other| other == reason).count();
            let counted: u32 = self.agents.iter().map(|agent| agent.refused(reason)).sum();
            assert_eq!(counted as usize, observed, "{}", reason.name());
        }
        reasons
    }

    fn take(&mut self, node: NodeId, out: OutputsOf<Agent<C>>) {
        for output in out {
            match output {
                Output::Work { operation, bytes } => {
                    self.log.push(Step::Work(node, operation, bytes));
                }
                Output::Observe(event) => self.log.push(Step::Event(node, event)),
                Output::Send { to, message } => {
                    let bytes = message.wire_bytes();
                    self.log.push(Step::Send(node, to, bytes));
                    let from = node;
                    let block = message;
                    self.table.push(Letter { from, to, block });
                }
                other => panic!("no agent says {other:?}"),
            }
        }
    }
}

/// The same test under both providers.
pub fn under_both(counted: impl FnOnce(World<Counted>), real: impl FnOnce(World<Real>)) {
    counted(World::new(3));
    real(World::new(3));
}
