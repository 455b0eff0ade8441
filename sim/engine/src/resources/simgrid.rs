//! SimGrid 4.1 behind the [`World`] traits: the only place that talks to the shim.
//!
//! The shim is a library of its own (`shim/`), which [`SimGrid::new`] loads: what runs without flows
//! needs no SimGrid. One engine per process, for good: a second [`SimGrid::new`] panics.

use std::ffi::{c_char, c_void, CString};
use std::sync::OnceLock;

use libloading::Library;
use pocketsim_protocols::contract::{NodeId, Seconds};

use crate::plan::Plan;
use crate::resources::{Carried, Carrier, CpuDemand, Hop, Listener, Spender, World};

/// `pocketsim_functions` of `shim/shim.hpp`, which says what each does.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Functions {
    interface: u32,
    init: unsafe extern "C" fn(*const *const c_char, u32),
    add_site: unsafe extern "C" fn(f64) -> u32,
    add_phone: unsafe extern "C" fn(u32, f64, f64, f64, i64) -> u32,
    seal: unsafe extern "C" fn(),
    carry: unsafe extern "C" fn(u32, u32, u32, f64),
    spend: unsafe extern "C" fn(u32, u32, f64, u32, f64),
    wake_at: unsafe extern "C" fn(f64),
    set_on: unsafe extern "C" fn(u32, bool),
    clock: unsafe extern "C" fn() -> f64,
    run: unsafe extern "C" fn(f64, *const Callbacks, *mut c_void),
}

#[repr(C)]
struct Callbacks {
    work_ended: extern "C" fn(*mut c_void, u32, u32),
    flight_ended: extern "C" fn(*mut c_void, u32, u32),
    wake: extern "C" fn(*mut c_void),
}

/// The process's one SimGrid engine with its platform.
#[derive(Debug)]
pub struct SimGrid(&'static Functions);

static LOADED: OnceLock<Functions> = OnceLock::new();

impl SimGrid {
    /// Loads the library that the plan names and builds the plan's platform: phones with shared
    /// cores and a radio link pair each, access points and cells as shared links.
    ///
    /// # Errors
    /// When the plan names no library, or one that does not load or is of another build.
    ///
    /// # Panics
    /// When this process already had an engine: every run is a child process.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let loaded = load(plan.simgrid_library.as_deref())?;
        LOADED
            .set(loaded)
            .expect("SimGrid allows one engine per process: run each simulation in its own");
        let this = Self(functions());
        this.init();
        let sites: Vec<i64> = plan
            .sites
            .capacity_bytes_per_s
            .iter()
            .map(|&bytes_per_s| this.add_site(bytes_per_s))
            .collect();
        for number in 0..plan.phones.profile.len() {
            this.add_phone(plan, number, &sites);
        }
        // SAFETY: the platform exists and is not sealed yet.
        unsafe { (this.0.seal)() };
        Ok(this)
    }

    fn init(&self) {
        let options: Vec<CString> = MODEL_OPTIONS
            .iter()
            .map(|text| CString::new(*text).expect("no NUL"))
            .collect();
        let pointers: Vec<*const c_char> = options.iter().map(|text| text.as_ptr()).collect();
        // SAFETY: the pointers live through the call, which copies the strings.
        unsafe { (self.0.init)(pointers.as_ptr(), pointers.len() as u32) };
    }

    fn add_site(&self, bytes_per_s: f64) -> i64 {
        if bytes_per_s > 0.0 {
            // SAFETY: the engine was made by the caller, `SimGrid::new`.
            i64::from(unsafe { (self.0.add_site)(bytes_per_s) })
        } else {
            NO_SITE
        }
    }

    fn add_phone(&self, plan: &Plan, number: usize, sites: &[i64]) {
        let access = &plan.access[plan.phones.access[number] as usize];
        let profile = &plan.profiles[plan.phones.profile[number] as usize];
        let site = sites[plan.phones.site[number] as usize];
        // SAFETY: the engine was made by the caller, and `site` is one of its numbers.
        unsafe {
            (self.0.add_phone)(
                profile.cores,
                access.up_bytes_per_s,
                access.down_bytes_per_s,
                access.latency_s,
                site,
            )
        };
    }
}

/// The functions of the library at `path`, which stays loaded until the process ends.
fn load(path: Option<&str>) -> Result<Functions, String> {
    let path = path.ok_or("flows need SimGrid, and the plan names no library of it")?;
    // SAFETY: to load it runs the constructors of SimGrid, which are there to be run.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    // SAFETY: the type is that of `pocketsim_simgrid` in shim.hpp.
    let table = unsafe { library.get::<extern "C" fn() -> *const Functions>(SYMBOL) };
    let table = table.map_err(|error| error.to_string())?();
    // SAFETY: the number comes first in each version of the table, a constant of the library.
    let interface = unsafe { (*table).interface };
    if interface != INTERFACE {
        return Err(format!("{path} is of another build: build it again"));
    }
    // SAFETY: of this number the table is as `Functions` declares it.
    let functions = unsafe { *table };
    std::mem::forget(library);
    Ok(functions)
}

/// What was loaded: whoever has a [`SimGrid`] has loaded it.
fn functions() -> &'static Functions {
    LOADED.get().expect("no run before SimGrid::new")
}

impl Carrier for SimGrid {
    fn stores_and_forwards(&self) -> bool {
        false
    }

    fn carry(&mut self, token: u32, hop: Hop, wire_bytes: u32) -> Carried {
        let Hop::Through(from, to) = hop else {
            unreachable!("a flow takes all links at once");
        };
        // SAFETY: a value of `SimGrid` proves that the platform is built; so below.
        unsafe { (self.0.carry)(token, from.0, to.0, f64::from(wire_bytes)) }
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
        unsafe { (self.0.spend)(token, phone.0, cpu_s, threads, priority) }
    }
}

impl World for SimGrid {
    fn clock(&self) -> Seconds {
        // SAFETY: as in `carry`.
        unsafe { (self.0.clock)() }
    }

    fn wake_at(&mut self, date: Seconds) {
        // SAFETY: as in `carry`.
        unsafe { (self.0.wake_at)(date) }
    }

    fn set_on(&mut self, phone: NodeId, on: bool) {
        // SAFETY: as in `carry`.
        unsafe { (self.0.set_on)(phone.0, on) }
    }
}

/// Runs SimGrid until `end`, telling `listener` what happens.
///
/// # Panics
/// Before [`SimGrid::new`].
pub fn run<L: Listener>(listener: &mut L, end: Seconds) {
    let callbacks = Callbacks {
        work_ended: work_ended::<L>,
        flight_ended: flight_ended::<L>,
        wake: wake::<L>,
    };
    let user = std::ptr::from_mut(listener).cast::<c_void>();
    // SAFETY: `listener` is borrowed mutably for the whole call and reached only
    // through `user` meanwhile, one callback at a time (SimGrid's maestro).
    unsafe { (functions().run)(end, &raw const callbacks, user) }
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
const SYMBOL: &[u8] = b"pocketsim_simgrid";
const INTERFACE: u32 = 1; // POCKETSIM_INTERFACE
const OUTCOME_DONE: u32 = 0;
