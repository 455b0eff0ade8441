//! What this device is and how it is: facts for the report, and what of them spoils measurements.
//!
//! | module | what lives there |
//! |---|---|
//! | [`build`] | what the compiler knows |
//! | [`tree`], [`properties`] | where facts come from: files below a root, Android's properties |
//! | `extras` | what only Java knows |
//! | [`identity`] | names, versions, memory |
//! | [`cores`], [`affinity`] | cores, their classes, and confining a thread to some |
//! | [`state`], [`battery`] | temperatures, frequencies, load, battery |
//! | [`virtuality`] | emulators, virtual machines, builds for debugging |
//! | [`core_to_core`] | how long a cache line takes from one core to another |
//! | [`allocator`] | how this process gets large buffers |
//!
//! Everything reads below a root, so that tests show it devices that they make up.

use crate::report::{Core, Device, State};
pub use extras::{Extras, HostExtras};
pub use properties::Properties;
pub use tree::Tree;

pub mod affinity;
pub mod allocator;
pub mod battery;
pub mod build;
pub mod core_to_core;
pub mod cores;
mod extras;
pub mod identity;
pub mod properties;
pub mod state;
pub mod tree;
pub mod virtuality;

/// One device: where its facts come from, and those that do not change.
#[derive(Clone, Debug)]
pub struct Host {
    tree: Tree,
    properties: Properties,
    cores: Vec<Core>,
}

impl Host {
    /// This device.
    pub fn here() -> Self {
        Self::read(Tree::new("/"), Properties::here())
    }

    /// The device whose files are in `tree`.
    pub fn read(tree: Tree, properties: Properties) -> Self {
        let cores = cores::read(&tree);
        Self {
            tree,
            properties,
            cores,
        }
    }

    /// What it is.
    pub fn device(&self) -> Device {
        identity::read(&self.tree, &self.properties, self.cores.clone())
    }

    /// Its cores.
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// How it is now.
    pub fn state(&self, extras: &HostExtras) -> State {
        state::read(&self.tree, &self.cores, extras)
    }

    /// The files that it is read from.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Its properties, if it is Android.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }
}
