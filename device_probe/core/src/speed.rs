//! How fast this core is at the moment: what a signature and a check take, within some 30 ms.
//!
//! A shared computer may be half as fast again a second later. Who times something for less than
//! that learns here what the same operations took just before and after. What deliberately does not
//! live here: how an operation is priced, which takes a report.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::kernel::{Depth, Repeat, Unmeasured, Work};
use crate::kernels::crypto;

/// Means, in seconds, of signatures over as many bytes as a minted token's proof.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// Of making one, as the kernel `ed25519_sign` does.
    pub sign_s: f64,
    /// Of checking one, as the kernel `ed25519_verify` does.
    pub check_s: f64,
}

/// Time both, one after the other.
///
/// # Errors
/// What a kernel refuses.
pub fn measure() -> Result<Speed, Unmeasured> {
    Ok(Speed {
        sign_s: mean_s("ed25519_sign")?,
        check_s: mean_s("ed25519_verify")?,
    })
}

fn mean_s(kernel: &str) -> Result<f64, Unmeasured> {
    let mut operation = made(kernel)?;
    // What a process does first finds cold caches, and pages that are not there.
    operation.run(WARM_UP)?;
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < LASTS {
        operation.run(ITERATIONS)?;
        count += ITERATIONS;
    }
    Ok(begun.elapsed().as_secs_f64() / count as f64)
}

fn made(kernel: &str) -> Result<Box<dyn Repeat>, Unmeasured> {
    let cases = crypto::cases(Depth::Quick).into_iter();
    let case = cases
        .filter(|case| case.kernel == kernel)
        .find(|case| case.parameters.get("bytes") == Some(&(crypto::MINT_BYTES as f64)));
    match case.expect("every run has it").work {
        Work::Repeat(make) => make(),
        Work::Experiment(_) => unreachable!("signatures are repeated"),
    }
}

const LASTS: Duration = Duration::from_millis(12);
/// Over all that a kernel takes in turn.
const WARM_UP: u64 = 64;
/// Long beside the reading of a clock.
const ITERATIONS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_takes_longer_than_a_signature_and_both_take_time() {
        let speed = measure().expect("measured");
        assert!(speed.sign_s > 0.0);
        assert!(speed.check_s > speed.sign_s);
    }
}
