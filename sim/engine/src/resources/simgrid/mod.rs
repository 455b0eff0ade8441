//! SimGrid 4.1 behind the [`World`] traits: the only place that talks to the shim.
//!
//! The shim is a library of its own (`shim/`), which [`SimGrid::new`] loads: what runs without flows
//! needs no SimGrid. One engine per process, for good: a second [`SimGrid::new`] panics.

pub mod joined;
pub mod platform;

use std::ffi::{c_char, c_void, CStr, CString};
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
    load_platform: unsafe extern "C" fn(*const c_char) -> *const c_char,
    netpoints: unsafe extern "C" fn() -> u32,
    name_at: unsafe extern "C" fn(u32) -> *const c_char,
    is_host_at: unsafe extern "C" fn(u32) -> bool,
    add_site: unsafe extern "C" fn(f64) -> u32,
    add_phone: unsafe extern "C" fn(u32, f64, f64, f64, i64, u32, *const c_char) -> u32,
    add_netpoint: unsafe extern "C" fn(*const c_char) -> bool,
    set_relay: unsafe extern "C" fn(*const c_char),
    seal: unsafe extern "C" fn(),
    route: unsafe extern "C" fn(u32, u32, *mut Way) -> bool,
    carry: unsafe extern "C" fn(u32, u32, u32, f64, bool),
    spend: unsafe extern "C" fn(u32, u32, f64, u32, f64),
    wake_at: unsafe extern "C" fn(f64),
    set_on: unsafe extern "C" fn(u32, bool),
    clock: unsafe extern "C" fn() -> f64,
    next_date: unsafe extern "C" fn() -> f64,
    run: unsafe extern "C" fn(f64, *const Callbacks, *mut c_void),
}

/// `pocketsim_route`: the way between two netpoints of a platform.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Way {
    /// One way, seconds; of some zones more than its links have.
    pub latency_s: Seconds,
    /// Of its slowest link; infinite without any.
    pub bytes_per_s: f64,
    sharing: u32,
}

impl Way {
    /// Whether flows share a link of it.
    pub fn is_shared(&self) -> bool {
        self.sharing & 1 != 0
    }

    /// Whether such a link is Wi-Fi's.
    pub fn has_wifi(&self) -> bool {
        self.sharing & 2 != 0
    }
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
    /// cores and a radio link pair each, access points and cells as shared links, and what lies
    /// between them where the plan has a file of that.
    ///
    /// # Errors
    /// When the plan names no library, or one that does not load or is of another build; or a file
    /// that is no platform.
    ///
    /// # Panics
    /// When this process already had an engine: every run is a child process.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let this = Self::load(plan.simgrid_library.as_deref())?;
        let core = plan.core.as_ref();
        if let Some(path) = core.and_then(|core| core.platform.as_deref()) {
            this.load_platform(path)?;
        }
        let names: Vec<CString> = core.map_or_else(Vec::new, |core| names(&core.names));
        let sites: Vec<i64> = plan
            .sites
            .capacity_bytes_per_s
            .iter()
            .map(|&bytes_per_s| this.add_site(bytes_per_s))
            .collect();
        for number in 0..plan.phones.profile.len() {
            let site = plan.phones.site[number] as usize;
            let netpoint = core.map(|core| &names[core.netpoint[site] as usize]);
            this.add_phone(plan, number, sites[site], netpoint);
        }
        if let Some(relay) = core.and_then(|core| core.relay) {
            // SAFETY: the text lives through the call, and the platform is not sealed yet.
            unsafe { (this.0.set_relay)(names[relay as usize].as_ptr()) };
        }
        this.seal();
        Ok(this)
    }

    /// The platform in the file at `path`, with netpoints to carry between, by their places: those that
    /// `choose` takes among the names of its hosts and of its hosts and routers, each sorted.
    ///
    /// # Errors
    /// As [`Self::new`], and when the platform has no netpoint of a name.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn between(
        library: &str,
        path: &str,
        choose: impl FnOnce(&[String], &[String]) -> Vec<String>,
    ) -> Result<Self, String> {
        let this = Self::load(Some(library))?;
        this.load_platform(path)?;
        let chosen = choose(&this.netpoints(true), &this.netpoints(false));
        for (name, text) in chosen.iter().zip(names(&chosen)) {
            // SAFETY: the text lives through the call, and the platform is not sealed yet.
            if !unsafe { (this.0.add_netpoint)(text.as_ptr()) } {
                return Err(format!("{path} has no host or router {name:?}"));
            }
        }
        this.seal();
        Ok(this)
    }

    fn load(library: Option<&str>) -> Result<Self, String> {
        let loaded = load(library)?;
        LOADED
            .set(loaded)
            .expect("SimGrid allows one engine per process: run each simulation in its own");
        let this = Self(functions());
        this.init();
        Ok(this)
    }

    fn seal(&self) {
        // SAFETY: the platform exists and is not sealed yet.
        unsafe { (self.0.seal)() };
    }

    fn load_platform(&self, path: &str) -> Result<(), String> {
        let text = CString::new(path).map_err(|error| error.to_string())?;
        // SAFETY: the engine was made by the caller; what is returned lives as long as the library.
        let mistake = unsafe { (self.0.load_platform)(text.as_ptr()) };
        if mistake.is_null() {
            return Ok(());
        }
        // SAFETY: it is a text.
        Err(unsafe { CStr::from_ptr(mistake) }
            .to_string_lossy()
            .into_owned())
    }

    /// The names of its hosts and routers, or of its hosts alone, sorted.
    pub fn netpoints(&self, hosts_alone: bool) -> Vec<String> {
        // SAFETY: the engine was made before, and numbers are below the count.
        let numbers = 0..unsafe { (self.0.netpoints)() };
        // SAFETY: as above.
        let wanted = numbers.filter(|&at| !hosts_alone || unsafe { (self.0.is_host_at)(at) });
        // SAFETY: as above; a name lives as long as the platform.
        let name = |at| unsafe { CStr::from_ptr((self.0.name_at)(at)) };
        wanted
            .map(|at| name(at).to_string_lossy().into_owned())
            .collect()
    }

    /// The way from one to another of the netpoints that it carries between; none if there is none.
    pub fn way(&self, from: u32, to: u32) -> Option<Way> {
        let mut found = Way::default();
        // SAFETY: the platform is sealed, and both are numbers of what was added.
        let is_there = unsafe { (self.0.route)(from, to, &raw mut found) };
        is_there.then_some(found)
    }

    /// When something happens next to what it carries; infinite for never.
    pub fn next_date(&self) -> Seconds {
        // SAFETY: a value of `SimGrid` proves that the platform is built.
        unsafe { (self.0.next_date)() }
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

    fn add_phone(&self, plan: &Plan, number: usize, air: i64, netpoint: Option<&CString>) {
        let access = &plan.access[plan.phones.access[number] as usize];
        let profile = &plan.profiles[plan.phones.profile[number] as usize];
        // SAFETY: the engine was made by the caller, `air` is one of its numbers, and the name lives
        // through the call.
        unsafe {
            (self.0.add_phone)(
                profile.cores,
                access.up_bytes_per_s,
                access.down_bytes_per_s,
                access.latency_s,
                air,
                plan.phones.site[number],
                netpoint.map_or(std::ptr::null(), |name| name.as_ptr()),
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

fn names(names: &[String]) -> Vec<CString> {
    let text =
        |name: &String| CString::new(name.as_str()).expect("no NUL in the name of a netpoint");
    names.iter().map(text).collect()
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
        let (from, to, is_relayed) = match hop {
            Hop::Through(NodeId(from), NodeId(to)) => (from, to, false),
            Hop::Relayed(NodeId(from), NodeId(to)) => (from, to, true),
            Hop::Across(from, to) => (from, to, false),
            Hop::Up(_) | Hop::Down(_) => unreachable!("a flow takes all links at once"),
        };
        // SAFETY: a value of `SimGrid` proves that the platform is built; so below.
        unsafe { (self.0.carry)(token, from, to, f64::from(wire_bytes), is_relayed) }
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
const INTERFACE: u32 = 2; // POCKETSIM_INTERFACE
const OUTCOME_DONE: u32 = 0;
