//! The report, version 1: what the probe measured, as a document.

use serde::{Deserialize, Serialize};

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {}

/// One measured case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {}
