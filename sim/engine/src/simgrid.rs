//! SimGrid 4.1 behind the [`World`] traits: the only place that talks to the shim.
//!
//! One engine per process, for good: a second [`SimGrid::new`] panics.

use std::ffi::{c_char, c_void, CString};
use std::sync::atomic::{AtomicBool, Ordering};

use pocketsim_protocols::contract::{NodeId, Seconds};

use crate::plan::Plan;
use crate::resources::{Carried, Carrier, CpuDemand, Leg, Listener, Spender, World};

extern "C" {
    fn pocketsim_init(options: *const *const c_char, option_count: u32);
    fn pocketsim_add_site(bytes_per_s: f64) -> u32;
    fn pocketsim_add_phone(cores: u32, up: f64, down: f64, latency_s: f64, site: i64) -> u32;
    fn pocketsim_seal();
    fn pocketsim_carry(token: u32, from: u32, to: u32, bytes: f64);
    fn pocketsim_spend(token: u32, phone: u32, cpu_s: f64, threads: u32, priority: f64);
    fn pocketsim_wake_at(date_s: f64);
    fn pocketsim_set_on(phone: u32, on: bool);
    fn pocketsim_clock() -> f64;
    fn pocketsim_run(end_s: f64, callbacks: *const Callbacks, user: *mut c_void);
}

#[repr(C)]
struct Callbacks {
    work_ended: extern "C" fn(*mut c_void, u32, u32),
    flight_ended: extern "C" fn(*mut c_void, u32, u32),
    wake: extern "C" fn(*mut c_void),
}

/// The process's one SimGrid engine with its platform.
#[derive(Debug)]
pub struct SimGrid(());

static CREATED: AtomicBool = AtomicBool::new(false);

impl SimGrid {
    /// Builds the platform of `plan`: phones with shared cores and a radio link
    /// pair each, access points and cells as shared links.
    ///
    /// # Panics
    /// When this process already had an engine: every run is a child process.
    pub fn new(plan: &Plan) -> Self {
        assert!(
            !CREATED.swap(true, Ordering::SeqCst),
            "SimGrid allows one engine per process: run each simulation in its own"
        );
        let options: Vec<CString> = MODEL_OPTIONS
            .iter()
            .map(|text| CString::new(*text).expect("no NUL"))
            .collect();
        let pointers: Vec<*const c_char> = options.iter().map(|text| text.as_ptr()).collect();
        // SAFETY: the pointers live through the call, which copies the strings.
        unsafe { pocketsim_init(pointers.as_ptr(), pointers.len() as u32) };
        let sites: Vec<i64> = plan
            .sites
            .capacity_bytes_per_s
            .iter()
            .map(|&bytes_per_s| add_site(bytes_per_s))
            .collect();
        for number in 0..plan.phones.profile.len() {
            add_phone(plan, number, &sites);
        }
        // SAFETY: the platform exists and is not sealed yet.
        unsafe { pocketsim_seal() };
        Self(())
    }
}

fn add_site(bytes_per_s: f64) -> i64 {
    if bytes_per_s > 0.0 {
        // SAFETY: the engine was made by the caller, `SimGrid::new`.
        i64::from(unsafe { pocketsim_add_site(bytes_per_s) })
    } else {
        NO_SITE
    }
}

fn add_phone(plan: &Plan, number: usize, sites: &[i64]) {
    let access = &plan.access[plan.phones.access[number] as usize];
    let profile = &plan.profiles[plan.phones.profile[number] as usize];
    let site = sites[plan.phones.site[number] as usize];
    // SAFETY: the engine was made by the caller, and `site` is one of its numbers.
    unsafe {
        pocketsim_add_phone(
            profile.cores,
            access.up_bytes_per_s,
            access.down_bytes_per_s,
            access.latency_s,
            site,
        )
    };
}

impl Carrier for SimGrid {
    const STORES_AND_FORWARDS: bool = false;

    fn carry(&mut self, token: u32, leg: Leg, wire_bytes: u32) -> Carried {
        let Leg::Through(from, to) = leg else {
            unreachable!("a flow takes all links at once");
        };
        // SAFETY: a value of `SimGrid` proves that the platform is built; so below.
        unsafe { pocketsim_carry(token, from.0, to.0, f64::from(wire_bytes)) }
        Carried::UntilTold
    }
}

impl Spender for SimGrid {
    fn spend(&mut self, token: u32, phone: NodeId, demand: CpuDemand) {
        let CpuDemand {
            cpu_s,
            threads,
            priority,
            thread: _,
        } = demand;
        // SAFETY: as in `carry`.
        unsafe { pocketsim_spend(token, phone.0, cpu_s, threads, priority) }
    }
}

impl World for SimGrid {
    fn clock(&self) -> Seconds {
        // SAFETY: as in `carry`.
        unsafe { pocketsim_clock() }
    }

    fn wake_at(&mut self, date: Seconds) {
        // SAFETY: as in `carry`.
        unsafe { pocketsim_wake_at(date) }
    }

    fn set_on(&mut self, phone: NodeId, on: bool) {
        // SAFETY: as in `carry`.
        unsafe { pocketsim_set_on(phone.0, on) }
    }
}

/// Runs SimGrid until `end`, telling `listener` what happens.
pub fn run<L: Listener>(listener: &mut L, end: Seconds) {
    let callbacks = Callbacks {
        work_ended: work_ended::<L>,
        flight_ended: flight_ended::<L>,
        wake: wake::<L>,
    };
    let user = std::ptr::from_mut(listener).cast::<c_void>();
    // SAFETY: `listener` is borrowed mutably for the whole call and reached only
    // through `user` meanwhile, one callback at a time (SimGrid's maestro).
    unsafe { pocketsim_run(end, &raw const callbacks, user) }
}

extern "C" fn work_ended<L: Listener>(user: *mut c_void, token: u32, outcome: u32) {
    // SAFETY: `user` is the `&mut L` of `run`, and callbacks do not nest.
    unsafe { &mut *user.cast::<L>() }.work_ended(token, outcome == OUTCOME_DONE);
}

extern "C" fn flight_ended<L: Listener>(user: *mut c_void, token: u32, outcome: u32) {
    // SAFETY: as in `work_ended`.
    unsafe { &mut *user.cast::<L>() }.flight_ended(token, outcome == OUTCOME_DONE);
}

extern "C" fn wake<L: Listener>(user: *mut c_void) {
    // SAFETY: as in `work_ended`.
    unsafe { &mut *user.cast::<L>() }.wake();
}

/// Every SimGrid option that changes a result, pinned here and nowhere else.
///
/// CM02 with factors 1: the default LV08 fits TCP slow start (latency x 13.01),
/// which is wrong for datagrams. No cross-traffic: a datagram has no reverse flow.
pub const MODEL_OPTIONS: &[&str] = &[
    "network/model:CM02",
    "network/latency-factor:1.0",
    "network/bandwidth-factor:1.0",
    "network/weight-S:0.0",
    "network/TCP-gamma:0",
    "network/crosstraffic:0",
    "cpu/model:Cas01",
];

const NO_SITE: i64 = -1;
const OUTCOME_DONE: u32 = 0;
