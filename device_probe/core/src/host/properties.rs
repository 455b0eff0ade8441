//! Android's system properties, as `getprop` lists them.

use std::collections::BTreeMap;
use std::process::Command;

/// Properties by name; none where this is not Android.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties(BTreeMap<String, String>);

impl Properties {
    /// Those of this device. The command is used because a static executable on a phone has no
    /// bionic to ask, and an app may run it too.
    pub fn here() -> Self {
        let listing = Command::new(GETPROP).output();
        listing.map_or_else(
            |_| Self::default(),
            |listing| Self::parse(&String::from_utf8_lossy(&listing.stdout)),
        )
    }

    /// Read what `getprop` prints: `[name]: [value]` lines; others are passed over.
    pub fn parse(listing: &str) -> Self {
        let entry = |line: &str| {
            let (name, value) = line.trim().split_once("]: [")?;
            let name = name.strip_prefix('[')?;
            Some((name.to_owned(), value.strip_suffix(']')?.to_owned()))
        };
        Self(listing.lines().filter_map(entry).collect())
    }

    /// Whether there are any, which is so on Android only.
    pub fn are_there(&self) -> bool {
        !self.0.is_empty()
    }

    /// The value of a property; `None` also if it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    }

    /// Whether a property is `1` or `true`.
    pub fn holds(&self, name: &str) -> bool {
        matches!(self.get(name), Some("1" | "true"))
    }
}

/// Where Android has it; by its full path, so that nothing else answers.
const GETPROP: &str = "/system/bin/getprop";
