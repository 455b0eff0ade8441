//! The first signature of a process, and the first that it checks: until then it has only opened its key.
//!
//! | kernel | one operation, in a process that is started for it |
//! |---|---|
//! | `ed25519_sign_first` | a signature over as many bytes as a minted token's proof |
//! | `ed25519_verify_first` | the same, checked |
//!
//! In a loop (`ed25519_sign`, `ed25519_verify`) code and tables are in the caches.

use std::hint::black_box;
use std::path::Path;

use ed25519_dalek::{Signer as _, SigningKey};

use super::ed25519::Signed;
use super::MINT_BYTES;
use crate::kernel::{Case, Depth, Group, Unmeasured};
use crate::kernels::inputs::{ensure, Generator};
use crate::kernels::once::{self, Operation};

/// The cases: only in full, as no operation of a profile is priced by them.
pub(crate) fn cases(depth: Depth, program: Option<&Path>) -> Vec<Case> {
    let kernels: &[&'static str] = match depth {
        Depth::Quick => &[],
        Depth::Full => &[SIGN, VERIFY],
    };
    let case = |kernel: &&'static str| {
        let parameters = [("bytes", MINT_BYTES as f64)];
        once::case(Group::Crypto, kernel, &parameters, program, || {
            Ok(signed(&own_key()).signature.to_vec())
        })
    };
    kernels.iter().map(case).collect()
}

/// What such a process does with what a case has for it, ready to be timed; None of other kernels.
///
/// # Errors
/// Something else than a signature.
pub(crate) fn operation(kernel: &str, found: &[u8]) -> Result<Option<Operation>, Unmeasured> {
    if ![SIGN, VERIFY].contains(&kernel) {
        return Ok(None);
    }
    let key = own_key();
    let (public, message) = (key.verifying_key().to_bytes(), message());
    let signature = found.try_into();
    let signature = signature.map_err(|_| Unmeasured::because("that is no signature"))?;
    Ok(Some(match kernel == SIGN {
        true => Box::new(move || {
            black_box(key.sign(&message));
            Ok(())
        }),
        false => Box::new(move || {
            let signed = Signed {
                key: public,
                message,
                signature,
            };
            ensure(signed.holds(), "a signature does not verify")
        }),
    }))
}

fn signed(key: &SigningKey) -> Signed {
    Signed::new(key, message())
}

fn own_key() -> SigningKey {
    SigningKey::from_bytes(&Generator::new().array())
}

fn message() -> Vec<u8> {
    Generator::new().bytes(MINT_BYTES)
}

const SIGN: &str = "ed25519_sign_first";
const VERIFY: &str = "ed25519_verify_first";

#[cfg(test)]
mod tests {
    use super::*;

    fn done(kernel: &str, found: &[u8]) -> Result<(), Unmeasured> {
        operation(kernel, found)?.expect("known")()
    }

    #[test]
    fn both_do_what_they_say() {
        let mut signature = signed(&own_key()).signature;
        for kernel in [SIGN, VERIFY] {
            assert_eq!(done(kernel, &signature), Ok(()), "{kernel}");
        }
        signature[0] ^= 1;
        assert!(done(VERIFY, &signature).is_err());
    }

    #[test]
    fn anything_else_is_none_of_theirs() {
        assert!(done(VERIFY, &[0; 63]).is_err());
        assert!(operation("sha256", &[0; 64]).is_ok_and(|none| none.is_none()));
    }
}
