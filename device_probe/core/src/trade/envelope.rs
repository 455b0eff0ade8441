//! Control that proves who said it: a message and the Ed25519 signature of its sender's key.
//!
//! | message | signed by |
//! |---|---|
//! | `Hello` | the key in it |
//! | `Start`, `Finish` | the key of its session's hello |
//! | `Welcome` | the key in it |
//! | `Ready`, `Summary`, `Full` | the key of the welcome |
//! | `Cookie`, `WhoAreYou` | nobody: they give the dialler a reason to ask, and no more |
//!
//! A session has one key and a key one session, so that neither is of use to another. Whose key the
//! first welcome holds nobody can know: a link names an address alone.

use ed25519_dalek::VerifyingKey;
use pocketsim_protocols::crypto::Key;

use super::control::{Control, NotControl, CONTROL_BYTES_MAX};
use super::node::Node;

/// A message of control as it came.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    /// What it says.
    pub control: Control,
    said: &'a [u8],
    signature: Option<&'a [u8; SIGNATURE_BYTES]>,
}

impl<'a> Envelope<'a> {
    /// Read it; nothing is verified yet.
    ///
    /// # Errors
    /// See [`NotControl`]; no bytes make this panic.
    pub fn open(bytes: &'a [u8]) -> Result<Self, NotControl> {
        let (said, signature) = match Control::decode(bytes) {
            Ok(_) => (bytes, None),
            Err(NotControl::Malformed) => {
                let parts = bytes.split_last_chunk();
                let (said, signature) = parts.ok_or(NotControl::Malformed)?;
                (said, Some(signature))
            }
            Err(other) => return Err(other),
        };
        // It began as control, even if nothing of that is left before a signature.
        let control = Control::decode(said).map_err(|_| NotControl::Malformed)?;
        match is_signed(&control) == signature.is_some() {
            true => Ok(Self {
                control,
                said,
                signature,
            }),
            false => Err(NotControl::Malformed),
        }
    }

    /// Whether the owner of `key` said it.
    pub fn is_by(&self, key: &Key) -> bool {
        let Some(signature) = self.signature else {
            return false;
        };
        VerifyingKey::from_bytes(&key.0).is_ok_and(|key| {
            let signature = ed25519_dalek::Signature::from_bytes(signature);
            key.verify_strict(self.said, &signature).is_ok()
        })
    }
}

/// The bytes of what `node` says.
pub fn seal(control: &Control, node: &Node) -> Vec<u8> {
    let mut bytes = control.encode();
    if is_signed(control) {
        let signature = node.sign(&bytes);
        bytes.extend_from_slice(&signature);
    }
    bytes
}

fn is_signed(control: &Control) -> bool {
    !matches!(control, Control::Cookie { .. } | Control::WhoAreYou)
}

/// Of Ed25519 (RFC 8032).
pub const SIGNATURE_BYTES: usize = 64;
/// No message is longer with its signature.
pub const ENVELOPE_BYTES_MAX: usize = CONTROL_BYTES_MAX + SIGNATURE_BYTES;
