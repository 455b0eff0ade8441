//! Whose folder it is, and by which rules: `settings.json`.

use pocketsim_protocols::crypto::Real;
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::{Handshake, Rules, Signer};
use serde::{Deserialize, Serialize};

use super::folder::{Folder, KEY};
use super::keys::{parse_key, show_key, Identity};
use super::TokensError;

/// As it stands in the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Settings {
    /// Of who mints.
    Authority {
        version: u32,
        key: String,
        rules: String,
    },
    /// Of who pays.
    Client {
        version: u32,
        key: String,
        authority: String,
        handshake: String,
    },
}

impl Settings {
    pub(super) fn of_authority(key: &PublicKey, rules: Rules) -> Self {
        Self::Authority {
            version: VERSION,
            key: show_key(key),
            rules: rules.name().to_owned(),
        }
    }

    pub(super) fn of_client(key: &PublicKey, authority: &PublicKey, handshake: Handshake) -> Self {
        Self::Client {
            version: VERSION,
            key: show_key(key),
            authority: show_key(authority),
            handshake: handshake.name().to_owned(),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("text is serialisable")
    }

    pub(super) fn read(folder: &Folder<'_>) -> Result<Self, TokensError> {
        let bytes = folder.read(SETTINGS)?;
        let settings: Self = serde_json::from_slice(&bytes)
            .map_err(|error| folder.damaged(SETTINGS, &error.to_string()))?;
        let (Self::Authority { version, .. } | Self::Client { version, .. }) = &settings;
        match *version == VERSION {
            true => Ok(settings),
            false => Err(folder.damaged(SETTINGS, "a version that this one does not read")),
        }
    }

    /// The key pair that the folder was made with.
    pub(super) fn identity(
        &self,
        folder: &Folder<'_>,
    ) -> Result<(Identity, Signer<Real>), TokensError> {
        let (Self::Authority { key, .. } | Self::Client { key, .. }) = self;
        let private = folder.read(KEY)?;
        let (identity, signer) =
            Identity::from_private(&private).map_err(|error| folder.damaged(KEY, error.0))?;
        // A private key has no check of its own.
        match show_key(identity.public_key()) == *key {
            true => Ok((identity, signer)),
            false => Err(folder.damaged(KEY, "not the key that the folder was made with")),
        }
    }

    /// The rules of an authority's folder.
    pub(super) fn rules(&self, folder: &Folder<'_>) -> Result<Rules, TokensError> {
        let Self::Authority { rules, .. } = self else {
            return Err(TokensError::Usage(
                "the folder is a client's; this is for an authority's".to_owned(),
            ));
        };
        let mut all = Rules::ALL.iter();
        let rules = all.find(|one| one.name() == rules).copied();
        rules.ok_or_else(|| folder.damaged(SETTINGS, "unknown rules"))
    }

    /// Authority and handshake of a client's folder.
    pub(super) fn client(
        &self,
        folder: &Folder<'_>,
    ) -> Result<(PublicKey, Handshake), TokensError> {
        let Self::Client {
            authority,
            handshake,
            ..
        } = self
        else {
            return Err(TokensError::Usage(
                "the folder is an authority's; this is for a client's".to_owned(),
            ));
        };
        let damaged = |reason: &str| folder.damaged(SETTINGS, reason);
        let authority = parse_key(authority).map_err(|reason| damaged(&reason))?;
        let mut all = Handshake::ALL.iter();
        let handshake = all.find(|one| one.name() == handshake).copied();
        Ok((
            authority,
            handshake.ok_or_else(|| damaged("unknown handshake"))?,
        ))
    }
}

/// Name of the file.
pub(super) const SETTINGS: &str = "settings.json";
const VERSION: u32 = 1;
