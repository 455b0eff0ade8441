//! Offline tokens as files: an authority and clients, each in a folder of its own, and batches,
//! submissions and answers between them that may go by any way.
//!
//! The machines are those of `pocketsim_protocols::token`; they decide everything. Here is what
//! they leave out: keys, chance, and what becomes durable before what. Whoever signs a token away
//! has forgotten it durably before the file with it appears; whoever answers has recorded it. So a
//! process that ends anywhere loses no money and spends none twice; a file that got lost is made
//! again.
//!
//! What deliberately does not live here: a network, accounts that tokens are bought from, and how
//! keys are exchanged.

pub mod amount;
mod authority;
mod client;
pub mod document;
mod error;
pub mod files;
pub(crate) mod folder;
pub mod keys;
pub mod outcome;
mod settings;
pub(crate) mod steps;
pub mod wallet_file;

use std::path::Path;

pub use authority::{new_authority, AuthorityFolder};
pub use client::{new_client, ClientFolder, Requests};
pub use error::TokensError;
pub use pocketsim_protocols::half_block::PublicKey;
pub use pocketsim_protocols::token::{Challenge, Handshake, Intent, Rules};

/// Whether the folder is an authority's; a client's otherwise.
///
/// # Errors
/// When it is neither, or damaged, or another process is in it.
pub fn is_authority(path: &Path) -> Result<bool, TokensError> {
    let folder = folder::Folder::open(path, &files::Disk)?;
    let settings = settings::Settings::read(&folder)?;
    Ok(matches!(settings, settings::Settings::Authority { .. }))
}
