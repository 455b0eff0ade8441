//! What came of a frame.

/// What came of a frame: datagrams that are over the air, and those that are given up.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Over the air.
    pub over: Vec<u32>,
    /// Lost.
    pub lost: Vec<u32>,
}
