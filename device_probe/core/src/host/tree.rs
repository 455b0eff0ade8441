//! Files of a system below some root: `/` of this device, or a folder that a test made.

use std::fs;
use std::path::{Path, PathBuf};

/// A root; paths are relative to it.
#[derive(Clone, Debug)]
pub struct Tree(PathBuf);

impl Tree {
    /// Below `root`.
    pub fn new(root: impl AsRef<Path>) -> Self {
        Self(root.as_ref().to_owned())
    }

    /// What is in a file, without space around it; `None` if it cannot be read or is empty.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.0.join(path)).ok()?;
        // Device trees end strings with NUL.
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The number in a file; `None` if there is none or it is something else.
    pub fn number(&self, path: &str) -> Option<f64> {
        let number: f64 = self.text(path)?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Whether there is such a file or folder.
    pub fn has(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    /// Names in a folder that start with `prefix`, sorted; none if there is no such folder.
    pub fn names(&self, folder: &str, prefix: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(folder)).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter(|name| name.starts_with(prefix)).collect();
        names.sort();
        names
    }
}
