//! `probe run`: measure this device and write a report.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pocketsim_probe_core::destination::Destination;
use pocketsim_probe_core::kernel::Depth;
use pocketsim_probe_core::report::Report;
use pocketsim_probe_core::run::{check, run, Options};
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::interrupt::{stop_on_interrupt, INTERRUPTED};
use crate::progress::Progress;
use crate::say::say;
use crate::summary::{summary, table};

/// Arguments of `probe run`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The cases that a profile needs most (the default): some 40 s on two busy cores of an AMD EPYC
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Every case, several times over: 7 minutes there
    #[arg(long)]
    full: bool,
    /// Where the report goes; stdout without
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A probe that serves, to measure the link to it
    #[arg(long, value_name = "HOST:PORT")]
    peer: Option<String>,
    /// A folder for files that are written and removed again
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// What the report should say about the run
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Only this group or these kernels (* and ? stand for any characters); may be repeated
    #[arg(long, value_name = "GROUP|PATTERN")]
    only: Vec<String>,
    /// Threads at most; as many as cores without
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Every figure on stderr, before the summary
    #[arg(long)]
    table: bool,
    /// No progress and no summary
    #[arg(short, long, conflicts_with = "table")]
    quiet: bool,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let options = arguments.options()?;
    check(&options).map_err(Failure::usage)?;
    let output = arguments.output.as_deref().map(open);
    let output = output.transpose()?;
    let stop = stop_on_interrupt();
    let progress = Progress::new(arguments.quiet);
    let report = run(&options, &progress, &stop);
    progress.finish();
    let report = report.map_err(Failure::environment)?;
    write(output, &report)?;
    arguments.tell(&report);
    Ok(if stop.is_raised() {
        ExitCode::from(INTERRUPTED)
    } else {
        ExitCode::SUCCESS
    })
}

impl Arguments {
    fn options(&self) -> Result<Options, Failure> {
        let depth = if self.full { Depth::Full } else { Depth::Quick };
        let peer = self.peer.as_deref().map(address).transpose()?;
        Ok(Options {
            peer,
            only: self.only.clone(),
            threads_max: self.threads,
            note: self.note.clone(),
            ..Options::new(depth, self.scratch()?)
        })
    }

    /// What came of it, on stderr.
    fn tell(&self, report: &Report) {
        let table = self.table.then(|| table(report));
        let summary = (!self.quiet).then(|| summary(report, self.output.as_deref()));
        for line in table.into_iter().chain(summary).flatten() {
            say(line);
        }
    }

    fn scratch(&self) -> Result<PathBuf, Failure> {
        let folder = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        match folder.is_dir() {
            true => Ok(folder),
            false => Err(Failure::usage(format!(
                "--scratch {}: no such folder",
                folder.display()
            ))),
        }
    }
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let wrong = |reason: String| {
        let text =
            format!("--peer {text}: {reason}; HOST:PORT is wanted, such as 192.168.1.7:4500");
        Failure::usage(text)
    };
    let found = text
        .to_socket_addrs()
        .map_err(|error| wrong(error.to_string()))?;
    found
        .into_iter()
        .next()
        .ok_or_else(|| wrong("no address".to_owned()))
}

/// Before anything is measured, so that nobody waits for a report that cannot be written.
fn open(path: &Path) -> Result<Destination, Failure> {
    let wrong = |error: io::Error| Failure::usage(format!("-o {}: {error}", path.display()));
    let destination = Destination::of(path).map_err(wrong)?;
    if let Destination::File(file) = &destination {
        beside(file).map_err(wrong)?;
    }
    Ok(destination)
}

fn write_to(destination: &Destination, json: &str) -> io::Result<()> {
    match destination {
        Destination::Other(path) => {
            let mut other = File::options().write(true).open(path)?;
            writeln!(other, "{json}")
        }
        Destination::File(path) => {
            let mut file = beside(path)?;
            writeln!(file, "{json}")?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            Ok(())
        }
    }
}

/// A new file in the same folder, which goes away unless it is renamed.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    tempfile::Builder::new()
        .prefix(".probe-")
        // As other programs make files: readable by others, unless the user's mask says no.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
}

fn write(output: Option<Destination>, report: &Report) -> Result<(), Failure> {
    let json = report.to_json();
    let written = match output {
        Some(destination) => write_to(&destination, &json),
        None => writeln!(io::stdout(), "{json}"),
    };
    written.map_err(|error| Failure::environment(format!("the report was not written: {error}")))
}
