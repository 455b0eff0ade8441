//! The plan: everything a run needs, as numbers and columns in SI units.
//!
//! Python resolves a scenario into this; the engine never parses a document. Names and types are
//! those of `pocketsim.sim.plan.plan`, which builds it; columns come as arrays
//! (`crate::plan::columns`).

mod battery;
#[cfg(feature = "python")]
pub(crate) mod columns;
pub(crate) mod machine_config;
#[cfg(any(test, feature = "python"))]
pub(crate) mod meetings;
pub mod moves;
mod nats;
mod retries;
mod wifi;

use pocketsim_protocols::contract::Seconds;
use pocketsim_protocols::transport::eva::EvaConfig;
use pocketsim_protocols::transport::TransportConfig;

pub use self::battery::Battery;
pub use self::moves::Moves;
pub use self::nats::{HolePunching, Nat, Nats, Relay};
pub use self::retries::Retries;
pub use self::wifi::Wifi;

#[cfg(feature = "python")]
use crate::plan::columns::{counts, eva, flags, floats, numbers, options};
#[cfg(feature = "python")]
use pyo3::FromPyObject;

/// One run: phones, what joins them, what they do, and for how long.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Plan {
    /// Root seed of every named stream.
    pub seed: u64,
    /// End of the run, in seconds.
    pub duration_s: Seconds,
    /// How links and cores are reckoned: `hybrid`, radios as queues and shares in arithmetic, or
    /// `flow`, SimGrid's flows.
    pub fidelity: String,
    /// The shim's library, which loads SimGrid; none where no flow needs it.
    pub simgrid_library: Option<String>,
    /// Device profiles, by number.
    pub profiles: Vec<Profile>,
    /// Access networks, by number.
    pub access: Vec<Access>,
    /// Access points and cells, by number.
    pub sites: Sites,
    /// Whether the phones of a site share its air and its capacity; else each has such a site to
    /// itself. Who shares one is on the same network all the same.
    pub contention: bool,
    /// The phones, as columns of one length.
    pub phones: Phones,
    /// What lies between sites.
    pub backbone: Backbone,
    /// What lies between them instead, if a platform does.
    pub core: Option<Core>,
    /// Phones that meet, and what carries their datagrams then.
    pub proximity: Proximity,
    /// When access networks carry nothing.
    pub outages: Vec<Outage>,
    /// Phones going off and on, sorted by time.
    pub churn: Churn,
    /// Who proposes what, when.
    pub workload: Workload,
    /// The protocol family and its options.
    pub protocol: Protocol,
    /// The transport and its options.
    pub transport: Transport,
    /// What the trace keeps.
    pub trace: Trace,
    /// What draws how much power; none when energy is not asked for.
    pub energy: Option<Energy>,
    /// What phones live on; none where batteries are never empty.
    pub battery: Option<Battery>,
    /// What lies between phones and the Internet; none where everybody reaches everybody.
    pub nats: Option<Nats>,
    /// What the relay can carry; none where it is a delay alone.
    pub relay: Option<Relay>,
    /// Phones that change their access network; none where none does (hybrid).
    pub moves: Option<Moves>,
}

/// What one phone model's operations cost; arrays run over `Operation::ALL`, then the scenario's own.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Profile {
    /// Cores that share the work.
    pub cores: u32,
    /// CPU seconds on one core, per operation.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub cpu_s: Vec<f64>,
    /// CPU seconds per byte.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub per_byte_s: Vec<f64>,
    /// Cores that the operation can use at once.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub threads: Vec<u32>,
    /// Seconds that the lane waits without using a core.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub wait_s: Vec<f64>,
    /// Sigma of a lognormal factor of mean 1 on the whole cost.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub spread_sigma: Vec<f64>,
    /// How many times as long as `udp_wake` says waking takes.
    pub wake_after: AfterRest,
    /// How many times as long as `quic_wake` says waking the tasks of QUIC takes.
    pub quic_wake_after: AfterRest,
    /// How many times as long as costs say computing takes.
    pub pace_after: AfterRest,
    /// Of operations that tell it themselves, how many times as long as their costs say they take,
    /// in place of that.
    pub own_after: Vec<OwnAfter>,
    /// Whether one core is given to threads as Linux's EEVDF gives it, not in fair shares.
    pub eevdf: bool,
    /// What the kernel takes of such a core every 4 ms, seconds; 0 for nothing.
    pub tick_core_s: Seconds,
    /// Receive buffer of a plain UDP socket, in bytes as the kernel counts.
    pub socket_buffer_bytes: u64,
}

/// How many times as long an operation takes after rests.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct OwnAfter {
    /// Its number in `Operation::ALL`.
    pub operation: u32,
    /// How many times as long.
    pub after: AfterRest,
}

/// How many times as long something takes after rests; empty where they do not matter.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct AfterRest {
    /// How long a phone has done nothing, ascending, seconds.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub rest_s: Vec<f64>,
    /// The ratio after each of those rests.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub ratio: Vec<f64>,
}

/// One kind of access network.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Access {
    /// From the phone, bytes per second; 0 with `wifi`.
    pub up_bytes_per_s: f64,
    /// To the phone, the same way.
    pub down_bytes_per_s: f64,
    /// What may wait at the phone to be sent, bytes; none for what its share carries in 250 ms (hybrid).
    pub up_queue_bytes: Option<f64>,
    /// What may wait at the access point for the phone, the same way (hybrid).
    pub down_queue_bytes: Option<f64>,
    /// Whether a sender waits while there is no room at the phone, or what it sends is dropped.
    pub blocks: bool,
    /// One way between phone and access point, seconds.
    pub latency_s: Seconds,
    /// Median of the extra one-way delay of each datagram; 0 for none.
    pub jitter_median_s: Seconds,
    /// Sigma of that lognormal delay.
    pub jitter_sigma: f64,
    /// Probability that an IP packet is lost on this hop outside bursts.
    pub loss_ratio: f64,
    /// How other losses on this hop cluster, for each phone and direction; none for not at all.
    pub bursts: Option<Bursts>,
    /// How its radios sleep, and what datagrams wait for that; none for not at all (hybrid).
    pub states: Option<States>,
    /// Its rate from a phone over time; none for `up_bytes_per_s` at all times (hybrid).
    pub up_rate: Option<RateSteps>,
    /// The same to a phone.
    pub down_rate: Option<RateSteps>,
    /// Handovers between cells; none for none (hybrid).
    pub handover: Option<Interruption>,
    /// Changes of radio technology, the same way.
    pub rat_change: Option<Interruption>,
    /// Whether a datagram may overtake earlier ones between the same phones.
    pub reorders: bool,
    /// Core time that each datagram of a phone takes of its cores to be forwarded, seconds; 0 for none.
    pub forwarding_cpu_s: Seconds,
    /// Its access points, if they are of IEEE 802.11; none for a rate and a plain capacity (hybrid).
    pub wifi: Option<Wifi>,
}

/// A rate over time in steps; columns of one length.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct RateSteps {
    /// When each begins, the first at 0, seconds.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub start_s: Vec<f64>,
    /// Its rate, bytes per second.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub bytes_per_s: Vec<f64>,
    /// After how long it begins again, seconds; none where the last step lasts.
    pub period_s: Option<Seconds>,
}

/// Times in which the link of a phone carries nothing, drawn for each phone.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Interruption {
    /// How often, per second: the time between two is exponential.
    pub rate_per_s: f64,
    /// Median of how long each takes, seconds.
    pub interruption_s: Seconds,
    /// Sigma of that lognormal time; 0 where each takes as long.
    pub interruption_sigma: f64,
}

/// How the radios of a network sleep (`crate::network::radio_states::rrc`).
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct States {
    /// From idle to connected, seconds.
    pub promotion_s: Seconds,
    /// From the last datagram to idle, seconds.
    pub inactivity_timer_s: Seconds,
    /// From one on-duration to the next, connected, seconds; 0 to listen always.
    pub drx_cycle_s: Seconds,
    /// How long it listens in each, seconds.
    pub on_duration_s: Seconds,
    /// From the last datagram to the first cycle, seconds.
    pub drx_inactivity_timer_s: Seconds,
    /// From one paging occasion to the next, idle, seconds; 0 to be paged at once.
    pub paging_cycle_s: Seconds,
    /// From one chance to ask for a grant to the next, seconds.
    pub sr_periodicity_s: Seconds,
    /// From asking to sending, seconds.
    pub grant_delay_s: Seconds,
    /// Probability that a datagram has to be sent again, each time; below 1.
    pub bler: f64,
    /// How much later it comes each time, seconds.
    pub harq_delay_s: Seconds,
}

/// How losses cluster (`pocketsim_protocols::bursts`).
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Bursts {
    /// Share of all packets that meet a burst, in [0, 1).
    pub share: f64,
    /// Mean length of a burst in packets, lost or not; none where it has one in time.
    pub mean_packets: Option<f64>,
    /// Mean length of a burst, whatever is sent meanwhile, seconds.
    pub mean_duration_s: Option<Seconds>,
    /// Probability that a packet in a burst is lost.
    pub loss_ratio: f64,
}

/// Access points and cells: the air of one is shared by every phone on it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Sites {
    /// Shared capacity in bytes per second; 0 for no shared link.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub capacity_bytes_per_s: Vec<f64>,
}

/// One phone per element; all of one length.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Phones {
    /// Number of the profile.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub profile: Vec<u32>,
    /// Number of the access network.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub access: Vec<u32>,
    /// Number of the site.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub site: Vec<u32>,
    /// First block index of its chain (1 for a fresh app).
    #[cfg_attr(feature = "python", pyo3(from_py_with = counts))]
    pub first_index: Vec<u64>,
    /// 0 for a person, [`Phones::SHOP`] or [`Phones::AUTHORITY`].
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub role: Vec<u32>,
    /// Modulation and coding scheme of its frames, where its access point is of IEEE 802.11; empty
    /// where none is.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub mcs: Vec<u32>,
    /// Number of the phone whose cores it uses, itself or another; empty if each has its own.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub cores_of: Vec<u32>,
}

impl Profile {
    /// Whether threads take turns on its only core, instead of sharing it.
    pub(crate) fn takes_turns(&self) -> bool {
        self.eevdf && self.cores == 1
    }
}

impl Plan {
    /// How much the receive buffer of a phone's socket holds, by profile.
    pub(crate) fn socket_buffers_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        let asked_bytes = self.transport.options.socket_buffer_bytes;
        self.profiles.iter().map(move |profile| match asked_bytes {
            0 => profile.socket_buffer_bytes,
            _ => asked_bytes,
        })
    }
}

impl Phones {
    /// The role of a shop.
    pub const SHOP: u32 = 1;
    /// The role of the tokens' authority.
    pub const AUTHORITY: u32 = 2;

    /// The number of the tokens' authority, where there is one.
    pub fn authority(&self) -> Option<u32> {
        let place = self.role.iter().position(|&role| role == Self::AUTHORITY);
        place.map(|place| place as u32)
    }
}

/// The Internet between sites and to the relay.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Backbone {
    /// One way between two sites, seconds; added when sites differ.
    pub latency_s: Seconds,
    /// One way between a site and the relay, seconds; added twice on a relayed path.
    pub relay_latency_s: Seconds,
}

/// Netpoints of a platform, which sites are at, and the routes between them.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Core {
    /// By site, the number of its netpoint.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub netpoint: Vec<u32>,
    /// Names of the netpoints in the platform, by number.
    pub names: Vec<String>,
    /// One way from each netpoint to each, a row for each sender, seconds.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub latency_s: Vec<f64>,
    /// What the slowest link on the way carries, the same way; infinite where there is no link.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub bytes_per_s: Vec<f64>,
    /// Whether flows share a link on the way, the same way.
    #[cfg_attr(feature = "python", pyo3(from_py_with = flags))]
    pub shared: Vec<bool>,
    /// Number of the netpoint that the relay is at; none for one that is away by the backbone's
    /// latency.
    pub relay: Option<u32>,
    /// The platform's file, for SimGrid to read; none where it carries nothing.
    pub platform: Option<String>,
}

impl Core {
    /// Whether flows share a link on any way.
    pub fn shares_links(&self) -> bool {
        self.shared.contains(&true)
    }
}

/// Contacts as columns of one length, sorted by time, and the kinds of link that they use.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Proximity {
    /// Kinds of link, by number.
    pub links: Vec<ProximityLink>,
    /// When two phones come into each other's reach, seconds.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub time_s: Vec<f64>,
    /// How long they stay there, seconds.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub duration_s: Vec<f64>,
    /// One of the two.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub phone_a: Vec<u32>,
    /// The other.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub phone_b: Vec<u32>,
    /// Number of the kind of link.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub link: Vec<u32>,
}

/// One kind of link between two phones that are near each other.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct ProximityLink {
    /// Each way, bytes per second.
    pub rate_bytes_per_s: f64,
    /// One way, seconds.
    pub latency_s: Seconds,
    /// A contact carries nothing for this long after it began, seconds.
    pub setup_s: Seconds,
    /// Probability that an IP packet is lost.
    pub loss_ratio: f64,
    /// Whether a phone sends only while it hears no other on such a link.
    pub shares_air: bool,
}

/// A time in which one access network carries nothing.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Outage {
    /// Number of the access network.
    pub access: u32,
    /// From this moment on, seconds.
    pub start_s: Seconds,
    /// Until before this one, seconds.
    pub end_s: Seconds,
}

/// Transitions as columns of one length, sorted by time.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Churn {
    /// When, seconds.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub time_s: Vec<f64>,
    /// Which phone.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub phone: Vec<u32>,
    /// Whether it comes on (else it goes off); every phone starts on.
    #[cfg_attr(feature = "python", pyo3(from_py_with = flags))]
    pub on: Vec<bool>,
}

/// Open arrivals (columns, sorted by time) and sender loops.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Workload {
    /// Arrival times, seconds.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub time_s: Vec<f64>,
    /// Proposers.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub from_phone: Vec<u32>,
    /// Counterparties.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub to_phone: Vec<u32>,
    /// Payload sizes.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub payload_bytes: Vec<u32>,
    /// Amounts, in cents; empty when arrivals are proposals and not payments.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub amount_cents: Vec<u32>,
    /// How the payer behaves, by its number in `Conduct::ALL`; as long as the amounts.
    #[cfg_attr(feature = "python", pyo3(from_py_with = numbers))]
    pub conduct: Vec<u32>,
    /// Sender loops: propose, sleep, again.
    pub loops: Vec<SenderLoop>,
}

/// A benchmark loop: `while elapsed < duration { send; sleep }`.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct SenderLoop {
    /// Proposer.
    pub from_phone: u32,
    /// Counterparty.
    pub to_phone: u32,
    /// First proposal, seconds.
    pub start_s: Seconds,
    /// How long the loop runs, seconds.
    pub duration_s: Seconds,
    /// Requested sleep between proposals, seconds.
    pub interval_s: Seconds,
    /// Whether it sleeps until the next multiple of the interval since its start, which what it
    /// does and how late it woke leave alone; else for an interval after each proposal.
    pub by_clock: bool,
    /// Mean overshoot of that sleep, seconds.
    pub overshoot_s: Seconds,
    /// Sigma of a lognormal factor of mean 1 on each overshoot.
    pub overshoot_sigma: f64,
    /// Payload size.
    pub payload_bytes: u32,
    /// It makes no proposal while so many of its phone have no answer; 0 for no limit, as
    /// of every loop whose interval is 0.
    pub outstanding_max: u32,
    /// Nor while so many endpoints of single messages are still there, closed ones too (quic
    /// reconnect).
    pub outstanding_until_drained: bool,
}

/// Protocol family and options.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Protocol {
    /// `trustchain`, `tokens`, `token_batch`, `transfer`, `compute`, `python` or `pairwise`.
    pub kind: String,
    /// `counted` or `real`.
    pub crypto: String,
    /// Window of duplicate suppression, seconds.
    pub duplicate_window_s: Seconds,
    /// How proposals without an answer are sent again (trustchain); none where they are not.
    pub retries: Option<Retries>,
    /// Options of offline tokens (tokens); none for other families.
    pub tokens: Option<Tokens>,
    /// What phones compute (compute); none for other families.
    pub compute: Option<Compute>,
    /// Names of the operations that the scenario brings (python); none for other families.
    pub own_operations: Vec<String>,
}

/// What every phone computes, as `ComputeConfig` describes it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Compute {
    /// A task by name.
    pub task: String,
    /// Threads of a phone.
    pub threads: u32,
    /// How often each performs the task.
    pub count: u32,
    /// Data of one operation or packet.
    pub payload_bytes: u32,
    /// Tokens that the task handles at once.
    pub tokens: u32,
    /// Recipients of each token.
    pub recipients: u32,
}

/// Options of offline tokens: the rules, the wallets, and dealings with the authority.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Tokens {
    /// `thesis` or `prototype`.
    pub rules: String,
    /// What a payee asks of a payer before it takes tokens: `challenge` or `none`.
    pub handshake: String,
    /// When a payee accepts: `offline`, on its own checks, or `online`, when the authority has.
    pub acceptance: String,
    /// More recipients than this no token has.
    pub recipients_max: u32,
    /// What a phone holds goes to the authority this often, seconds.
    pub settle_interval_s: Seconds,
    /// A payment that is not complete after this is given up, seconds.
    pub payment_timeout_s: Seconds,
    /// A person's wallet is filled up to this, in cents.
    pub person_wallet_cents: u32,
    /// Below this a person withdraws as soon as they can, in cents.
    pub person_low_cents: u32,
    /// A shop's till is filled up to this, in cents.
    pub shop_till_cents: u32,
    /// Tokens of one submission.
    pub batch_tokens: u32,
}

/// Transport and options.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Transport {
    /// `udp`, `quic_keep`, `quic_reconnect`, `tftp`, `ipv8`, `ipv8_sealed`, `eva`, or `none` where
    /// nothing is sent.
    pub mode: String,
    /// Those of every phone's machine and of its driver.
    #[cfg_attr(feature = "python", pyo3(from_py_with = options))]
    pub options: TransportConfig,
    /// Whether the threads that read the socket and propose run before tasks when both want cores.
    pub threads_first: bool,
    /// Per phone: when, after its first dial, a second dial that raced with it
    /// replaces the kept connection; infinite for never (quic keep).
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub duplicate_dial_s: Vec<f64>,
    /// Per phone: when its kept connection breaks for good; infinite for never.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub connection_break_s: Vec<f64>,
    /// Options of EVA (eva); none for other transports.
    #[cfg_attr(feature = "python", pyo3(from_py_with = eva))]
    pub eva: Option<EvaConfig>,
}

/// What the trace keeps.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Trace {
    /// `full`, `sampled`, `work`: full, and the timeline of work and datagrams; `metrics`: none.
    pub mode: String,
    /// Share of transactions kept when sampled, by a hash of their id.
    pub sample_ratio: f64,
    /// Benchmark log per phone: events beyond it are counted, not kept.
    pub log_capacity: u64,
    /// Whether the tokens that phones have at the end are handed out (tokens).
    pub tokens: bool,
    /// Whether the blocks that phones have stored are handed out (trustchain).
    pub blocks: bool,
}

/// Powers of every phone, whatever its profile.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Energy {
    /// Of a busy core, watts.
    pub core_w: f64,
    /// By number of the access network.
    pub access: Vec<Radio>,
    /// At each end of a busy contact, watts, by number of the kind of link.
    #[cfg_attr(feature = "python", pyo3(from_py_with = floats))]
    pub contact_w: Vec<f64>,
}

/// What the radio of an access network draws beyond an idle phone's share.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Radio {
    /// While it sends or receives, watts.
    pub active_w: f64,
    /// For each byte that it sends, beside that, joules.
    pub up_per_byte_j: f64,
    /// For each byte that it receives, joules.
    pub down_per_byte_j: f64,
    /// In its tail, watts.
    pub tail_power_w: f64,
    /// It falls asleep when it was silent for this long, seconds.
    pub tail_s: Seconds,
    /// For waking up, joules.
    pub promotion_j: f64,
}
