//! What SimGrid says of a platform: its netpoints, and the ways between those that are asked for.
//!
//! It is asked before any run, in a process of its own, and what it says is kept. What deliberately
//! does not live here: what is made of it ([`crate::network`]).

use crate::resources::simgrid::{SimGrid, Way};

/// A platform, as far as was asked for.
#[derive(Debug)]
pub struct Platform {
    /// Names of its hosts, sorted.
    pub hosts: Vec<String>,
    /// Names of its hosts and routers, sorted.
    pub netpoints: Vec<String>,
    /// Those that ways are told between, sorted.
    pub between: Vec<String>,
    /// From each of these to each, a row for each sender; none where there is no way.
    pub ways: Vec<Option<Way>>,
}

impl Platform {
    /// Asks SimGrid, which `library` loads, for the ways of the platform in the file at `path` between
    /// those of its netpoints that are `named`, and `with_hosts` all hosts.
    ///
    /// # Errors
    /// For a file that is no platform, and for too many netpoints.
    ///
    /// # Panics
    /// When this process already had an engine of SimGrid's.
    pub fn ask(
        library: &str,
        path: &str,
        named: &[String],
        with_hosts: bool,
    ) -> Result<Self, String> {
        let mut between = Vec::new();
        let choose = |hosts: &[String], all: &[String]| {
            let is_chosen = |name: &&String| {
                named.contains(name) || (with_hosts && hosts.binary_search(name).is_ok())
            };
            between = all.iter().filter(is_chosen).cloned().collect();
            between.clone()
        };
        let simgrid = SimGrid::between(library, path, choose)?;
        let count = between.len() as u32;
        if count > NETPOINTS_MAX {
            let said = "netpoints are more than routes are kept between: name those of sites";
            return Err(format!("{count} {said}, at most {NETPOINTS_MAX}"));
        }
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        Ok(Self {
            hosts: simgrid.netpoints(true),
            netpoints: simgrid.netpoints(false),
            ways: pairs.map(|(from, to)| simgrid.way(from, to)).collect(),
            between,
        })
    }
}

/// A quarter of a million ways.
const NETPOINTS_MAX: u32 = 500;
