//! What a run tells: its trace, its timeline, and how far it is.

mod progress;
mod timeline;
mod trace;
