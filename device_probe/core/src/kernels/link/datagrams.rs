//! Round trips, loss and reordering of datagrams.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use super::prober::{new_session, send_train, Prober, Train};
use super::FULL_BYTES;
use crate::kernel::{Budget, Series, Unmeasured};
use crate::kernels::experiment::{collect, collect_cold};
use crate::stop::Stop;

/// One echo at a time on a link that is otherwise idle.
pub(super) fn rtt(
    budget: &Budget<'_>,
    peer: SocketAddr,
    bytes: usize,
) -> Result<Vec<Series>, Unmeasured> {
    echoes(budget, Prober::dial(peer)?, bytes)
}

/// The same while data goes out beside it.
pub(super) fn rtt_loaded(
    budget: &Budget<'_>,
    peer: SocketAddr,
    bytes: usize,
    rate_bytes_per_s: f64,
) -> Result<Vec<Series>, Unmeasured> {
    let prober = Prober::dial(peer)?;
    let (socket, session) = (prober.socket()?, new_session()?);
    let load = Train {
        bytes: FULL_BYTES,
        rate_bytes_per_s,
        duration: Duration::MAX,
    };
    let end = Stop::new();
    thread::scope(|scope| {
        // Its failure is that of the echoes too, which say so.
        scope.spawn(|| send_train(&socket, session, load, &end));
        let measured = echoes(budget, prober, bytes);
        end.raise();
        measured
    })
}

fn echoes(
    budget: &Budget<'_>,
    mut prober: Prober,
    bytes: usize,
) -> Result<Vec<Series>, Unmeasured> {
    collect(budget, ["rtt_s"], || {
        thread::sleep(ECHO_GAP);
        prober.rtt_s(bytes).map(|rtt_s| [rtt_s])
    })
}

/// One value for each train.
pub(super) fn loss(
    budget: &Budget<'_>,
    peer: SocketAddr,
    bytes: usize,
) -> Result<Vec<Series>, Unmeasured> {
    let mut prober = Prober::dial(peer)?;
    let train = train(bytes, LOSS_DATAGRAMS_PER_S);
    let budget = few(budget);
    collect_cold(&budget, ["loss_ratio", "sent_datagrams"], || {
        let outcome = prober.run(train, budget.stop)?;
        Ok([outcome.loss_ratio(), outcome.sent as f64])
    })
}

/// One value for each train.
pub(super) fn reordering(
    budget: &Budget<'_>,
    peer: SocketAddr,
    bytes: usize,
) -> Result<Vec<Series>, Unmeasured> {
    let mut prober = Prober::dial(peer)?;
    let train = train(bytes, REORDERING_DATAGRAMS_PER_S);
    let budget = few(budget);
    collect_cold(&budget, ["reordered_ratio", "sent_datagrams"], || {
        let outcome = prober.run(train, budget.stop)?;
        let arrived = outcome.arrived;
        if arrived.datagrams == 0 {
            return Err(Unmeasured::because("nothing of a train arrived"));
        }
        let late_ratio = arrived.late as f64 / arrived.datagrams as f64;
        Ok([late_ratio, outcome.sent as f64])
    })
}

fn train(bytes: usize, datagrams_per_s: f64) -> Train {
    Train {
        bytes,
        rate_bytes_per_s: datagrams_per_s * bytes as f64,
        duration: TRAIN,
    }
}

fn few<'a>(budget: &Budget<'a>) -> Budget<'a> {
    Budget {
        samples: budget.samples.min(TRAINS_MAX),
        ..*budget
    }
}

/// Long enough for the echo before to be forgotten, short enough that a Wi-Fi radio stays awake.
const ECHO_GAP: Duration = Duration::from_millis(10);

/// Slow enough that queues stay empty; at 1200 bytes about 1 Mbit/s.
const LOSS_DATAGRAMS_PER_S: f64 = 100.0;

/// Close enough together to overtake each other on a link with a few milliseconds of jitter.
const REORDERING_DATAGRAMS_PER_S: f64 = 500.0;

/// Trains of one case, and the length of each: 200 datagrams or more, of which a loss of 1 % takes
/// two.
const TRAINS_MAX: usize = 10;
const TRAIN: Duration = Duration::from_secs(2);
