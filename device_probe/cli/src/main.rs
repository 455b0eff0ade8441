//! `probe`: the device probe as a command. It only wires; everything else is in the core.
//!
//! Data goes to stdout, progress to stderr. Exit codes are those of `pocketsim`: 0 done, 2 usage or
//! invalid document, 3 a check failed, 5 environment missing, 130 interrupted; but a bug, which is a
//! panic, ends it with 101.

use std::process::ExitCode;

use clap::Parser;

mod check;
mod failure;
mod interrupt;
mod link;
mod progress;
mod quantity;
mod run;
mod say;
mod serve;
mod summary;
mod tokens;
mod trade;
mod version;

/// Measure what a phone's cryptography, storage and network cost, and trade for real.
#[derive(Debug, Parser)]
#[command(name = "probe", version, arg_required_else_help = true)]
enum Verb {
    /// Measure this device and write a report.
    Run(run::Arguments),
    /// Answer another probe that measures the link to this one.
    Serve(serve::Arguments),
    /// Trade blocks with another probe over real sockets.
    Trade(trade::Arguments),
    /// Mint, pay, verify and redeem offline tokens, as files.
    Tokens(tokens::Arguments),
    /// Stand between two probes as a link with known faults.
    Link(Box<link::Arguments>),
    /// Check a report.
    Check(check::Arguments),
    /// Say what this build is.
    Version(version::Arguments),
}

fn main() -> ExitCode {
    pocketsim_probe_core::host::allocator::take_large_buffers_fresh();
    let done = match Verb::parse() {
        Verb::Run(arguments) => run::main(&arguments),
        Verb::Serve(arguments) => serve::main(&arguments),
        Verb::Trade(arguments) => trade::main(&arguments),
        Verb::Tokens(arguments) => tokens::main(&arguments),
        Verb::Link(arguments) => link::main(&arguments),
        Verb::Check(arguments) => check::main(&arguments),
        Verb::Version(arguments) => version::main(&arguments),
    };
    done.unwrap_or_else(|failure| failure.report())
}
