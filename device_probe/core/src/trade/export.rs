//! Events as files: the benchmark app's CSV, or one JSON object a line for a Parquet table.
//!
//! CSV has the columns of the app's `BenchmarkResult` (Iftode 2025, section 4.1) and the
//! operations of the throughput app (Chirila 2025, section 4.1), as `sim.export` reads them: sends,
//! the peer's processing, blocks received back and stores. JSON Lines have every event and the
//! columns of `sim.trace`. A file appears whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pocketsim_protocols::contract::EventKind;
use serde::Serialize;

use super::listen::trade_clock;
use super::log::{Log, Record, Run};
use super::node::Node;
use super::store::{Storage, Store};
use super::{Carrier, TradeError};

/// Where the events go.
#[derive(Clone, Debug)]
pub struct Export {
    file: Option<(PathBuf, Format)>,
    label: String,
    began: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Csv,
    JsonLines,
}

impl Export {
    /// To `output`, whose extension says how; the label goes into the tags of a CSV. Time zero
    /// of the log is now.
    ///
    /// # Errors
    /// An extension that stands for nothing, a label that a CSV cannot hold, no such folder.
    pub fn to(output: Option<&Path>, label: &str) -> Result<Self, TradeError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if label.is_empty() || !label.chars().all(plain) {
            let reason = format!("{label:?} is not made of letters, digits, '_', '-' and '.'");
            return Err(TradeError::Option("label", reason));
        }
        let file = output.map(|path| Ok::<_, TradeError>((path.to_owned(), format(path)?)));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Self {
            file: file.transpose()?,
            label: label.to_owned(),
            began: now.unwrap_or_default(),
        })
    }

    /// Write what `node` observed, if anywhere.
    ///
    /// # Errors
    /// What the disk says.
    pub fn write(&self, node: &Node) -> io::Result<()> {
        let Some((path, format)) = &self.file else {
            return Ok(());
        };
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let mut file = BufWriter::new(File::create(&partial)?);
        node.with_log(|log| match format {
            Format::Csv => self.write_csv(log, &mut file),
            Format::JsonLines => write_json_lines(log, &mut file),
        })?;
        file.into_inner()?.sync_all()?;
        fs::rename(&partial, path)
    }

    /// The columns of the benchmark app.
    ///
    /// # Errors
    /// What `target` says.
    pub fn write_csv(&self, log: &Log, target: &mut dyn Write) -> io::Result<()> {
        writeln!(target, "{CSV_HEADER}")?;
        for record in &log.records {
            let Some(operation) = operation(record.kind) else {
                continue;
            };
            let run = &log.runs[record.run as usize];
            let timestamp = timestamp(self.began + Duration::from_secs_f64(record.time_s));
            let (mode, node) = (mode(run.carrier), observer(record, run));
            let (message, size) = (record.message.0, record.size_bytes);
            let tag = self.tag(record.run, run);
            let sequence = record.message.sequence();
            writeln!(
                target,
                "{operation},{timestamp},{mode},{node},{message},{size},{tag},{sequence}"
            )?;
        }
        Ok(())
    }

    /// A repetition that was ended early says so, where the columns leave room for it.
    fn tag(&self, number: u32, run: &Run) -> String {
        match run.stopped {
            true => format!("{}_stopped#{number}", self.label),
            false => format!("{}#{number}", self.label),
        }
    }
}

/// One object a line, with the columns of a trace.
///
/// # Errors
/// What `target` says.
pub fn write_json_lines(log: &Log, target: &mut dyn Write) -> io::Result<()> {
    for record in &log.records {
        let run = &log.runs[record.run as usize];
        let row = Row {
            repetition: record.run,
            time_s: record.time_s - run.started_s,
            node: observer(record, run),
            kind: record.kind.name(),
            message_id: record.message.0,
            peer: record.peer,
            message_size: record.size_bytes,
            reason: record.reason.map(|reason| reason.name()),
            logged: true,
        };
        serde_json::to_writer(&mut *target, &row)?;
        target.write_all(b"\n")?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Row {
    repetition: u32,
    time_s: f64,
    node: u32,
    kind: &'static str,
    message_id: u64,
    peer: u32,
    message_size: u32,
    reason: Option<&'static str>,
    logged: bool,
}

/// A node whose store lies beside the output, or among temporary files.
///
/// # Errors
/// When there is no such folder, or no random numbers.
pub(super) fn node(storage: Storage, output: Option<&Path>) -> io::Result<Arc<Node>> {
    let folder = output.and_then(Path::parent).map(Path::to_owned);
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| match output {
        Some(_) => PathBuf::from("."),
        None => std::env::temp_dir(),
    });
    let store = Store::open(storage, &folder)?;
    Node::ephemeral(store, trade_clock()).map(Arc::new)
}

fn format(path: &Path) -> Result<Format, TradeError> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if let Some(missing) = parent.filter(|parent| !parent.is_dir()) {
        let reason = format!("there is no folder {}", missing.display());
        return Err(TradeError::Option("output", reason));
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Format::Csv),
        Some("json" | "jsonl") => Ok(Format::JsonLines),
        _ => {
            let reason = format!("{} ends in none of .csv, .json, .jsonl", path.display());
            Err(TradeError::Option("output", reason))
        }
    }
}

/// Of two ends one is the peer, so the other observed it.
fn observer(record: &Record, run: &Run) -> u32 {
    match record.peer {
        LISTENER => run.dialler,
        _ => LISTENER,
    }
}

fn operation(kind: EventKind) -> Option<&'static str> {
    match kind {
        EventKind::Send => Some("send_benchmark_sc"),
        EventKind::Process => Some("processing_message"),
        EventKind::ReceiveBack => Some("block_received_back"),
        EventKind::Store => Some("store_block_e"),
        _ => None,
    }
}

/// The app says "Iroh" for its QUIC, which this is not.
fn mode(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Udp => "UDP",
        Carrier::QuicReconnect | Carrier::QuicKeep => "QUIC",
        Carrier::Tftp => "TFTP",
    }
}

/// RFC 3339 in UTC with microseconds.
fn timestamp(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (year, month, day) = date(seconds / SECONDS_PER_DAY);
    let of_day = seconds % SECONDS_PER_DAY;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let micros = since_epoch.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of a day since 1970 in the Gregorian calendar.
fn date(mut day: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    while day >= 365 + leap_days(year) {
        day -= 365 + leap_days(year);
        year += 1;
    }
    let mut month = 1;
    while day >= days_of(month, year) {
        day -= days_of(month, year);
        month += 1;
    }
    (year, month, day + 1)
}

fn days_of(month: u64, year: u64) -> u64 {
    match month {
        2 => 28 + leap_days(year),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn leap_days(year: u64) -> u64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    is_leap.into()
}

const CSV_HEADER: &str =
    "operation,timestamp,mode,node_id,message_id,message_size,tag,sequence_number";
/// Its number in the experiment.
const LISTENER: u32 = 0;
const SECONDS_PER_DAY: u64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000250Z"),
            (951_782_400, "2000-02-29T00:00:00.000250Z"),
            (951_868_800, "2000-03-01T00:00:00.000250Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000250Z"),
            (1_735_689_600, "2025-01-01T00:00:00.000250Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000250Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000250Z"),
        ] {
            assert_eq!(timestamp(Duration::new(seconds, 250_999)), expected);
        }
    }
}
