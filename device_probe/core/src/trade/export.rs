//! Events as files: the benchmark app's CSV, or one JSON object a line for a Parquet table.
//!
//! CSV has the columns of the app's `BenchmarkResult` (Iftode 2025, section 4.1) and the
//! operations of the throughput app (Chirila 2025, section 4.1), as `pocketsim.sim.export.app_csv` reads them: sends,
//! the peer's processing, blocks received back and stores. JSON Lines have every event and the
//! columns of `pocketsim.sim.trace`. While the trade goes on the events are in `NAME.partial`, to which each
//! pause adds; the end gives it its name, or whatever is no file what is in it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pocketsim_protocols::contract::EventKind;
use serde::Serialize;

use super::epoch::Epoch;
use super::log::{Log, Record, Run};
use super::node::Node;
use super::store::{Storage, Store};
use super::{Carrier, TradeError};
use crate::destination::Destination;

/// Where the events go.
#[derive(Debug)]
pub struct Export {
    target: Option<Target>,
    label: String,
    epoch: Epoch,
}

/// A file that grows.
#[derive(Debug)]
struct Target {
    destination: Destination,
    partial: PathBuf,
    format: Format,
    growing: Mutex<Growing>,
}

#[derive(Debug)]
struct Growing {
    file: BufWriter<File>,
    records: usize,
    named: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Csv,
    JsonLines,
}

impl Export {
    /// To `output`, whose extension says how, and which can be written to from now on; the label
    /// goes into the tags of a CSV. Time zero of the log is now.
    ///
    /// # Errors
    /// An extension that stands for nothing, a label that a CSV cannot hold, no such folder, a folder
    /// of that name, no right to write there.
    pub fn to(output: Option<&Path>, label: &str) -> Result<Self, TradeError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if label.is_empty() || !label.chars().all(plain) {
            let reason = format!("{label:?} is not made of letters, digits, '_', '-' and '.'");
            return Err(TradeError::Option("label", reason));
        }
        Ok(Self {
            target: output.map(Target::create).transpose()?,
            label: label.to_owned(),
            epoch: Epoch::now(),
        })
    }

    /// When the log begins.
    pub(super) fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// Add what `node` observed since the last time. Not while blocks are under way: it takes
    /// time, though not the node's.
    ///
    /// # Errors
    /// What the disk says.
    pub fn flush(&self, node: &Node) -> io::Result<()> {
        let Some(target) = &self.target else {
            return Ok(());
        };
        let mut growing = target.growing();
        let part = node.with_log(|log| log.since(growing.records));
        match target.format {
            Format::Csv => self.write_rows(&part, &mut growing.file)?,
            Format::JsonLines => write_json_lines(&part, &mut growing.file)?,
        }
        growing.records += part.records.len();
        growing.file.flush()
    }

    /// Add what is left, and give the file its name.
    ///
    /// # Errors
    /// What the disk says; what was written until then stays in `NAME.partial`.
    pub fn finish(&self, node: &Node) -> io::Result<()> {
        self.flush(node)?;
        let Some(target) = &self.target else {
            return Ok(());
        };
        let mut growing = target.growing();
        growing.file.get_ref().sync_all()?;
        target.destination.take(&target.partial)?;
        growing.named = true;
        Ok(())
    }

    /// The columns of the benchmark app.
    ///
    /// # Errors
    /// What `target` says.
    pub fn write_csv(&self, log: &Log, target: &mut dyn Write) -> io::Result<()> {
        writeln!(target, "{CSV_HEADER}")?;
        self.write_rows(log, target)
    }

    fn write_rows(&self, log: &Log, target: &mut dyn Write) -> io::Result<()> {
        for record in &log.records {
            let Some(operation) = operation(record.kind) else {
                continue;
            };
            let run = &log.runs[record.run as usize];
            let timestamp = self.epoch.timestamp(record.time_s);
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

impl Target {
    fn create(path: &Path) -> Result<Self, TradeError> {
        let format = format(path)?;
        let destination = Destination::of(path).map_err(|error| refused(path, &error))?;
        let mut partial = destination.path().as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let refused = |error| refused(&partial, &error);
        let mut file = BufWriter::new(File::create(&partial).map_err(refused)?);
        if format == Format::Csv {
            writeln!(file, "{CSV_HEADER}").map_err(refused)?;
        }
        Ok(Self {
            destination,
            format,
            growing: Mutex::new(Growing {
                file,
                records: 0,
                named: false,
            }),
            partial,
        })
    }

    fn growing(&self) -> std::sync::MutexGuard<'_, Growing> {
        self.growing.lock().expect("writing does not panic")
    }
}

impl Drop for Target {
    /// What holds no event is no use to anybody.
    fn drop(&mut self) {
        let growing = self.growing();
        if growing.records == 0 && !growing.named {
            let _ = fs::remove_file(&self.partial);
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
        // What is refused before a block moves was there at the start.
        let started_s = run.started_s.unwrap_or(record.time_s);
        let row = Row {
            repetition: record.run,
            time_s: (record.time_s - started_s).max(0.0),
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
pub(super) fn node(
    storage: Storage,
    limit_bytes: u64,
    output: Option<&Path>,
    epoch: &Epoch,
) -> io::Result<Arc<Node>> {
    let folder = output.and_then(Path::parent).map(Path::to_owned);
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| match output {
        Some(_) => PathBuf::from("."),
        None => std::env::temp_dir(),
    });
    let store = Store::open(storage, &folder)?.limited_to(limit_bytes);
    Node::ephemeral(store, epoch.clock()).map(Arc::new)
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

fn refused(path: &Path, error: &io::Error) -> TradeError {
    TradeError::Option("output", format!("{}: {error}", path.display()))
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

const CSV_HEADER: &str =
    "operation,timestamp,mode,node_id,message_id,message_size,tag,sequence_number";
/// Its number in the experiment.
const LISTENER: u32 = 0;
