//! What the command says to people, on stderr, and its lines of data on stdout.
//!
//! Whoever reads may go away in the midst of a measurement: `probe run 2>&1 | head`, a terminal
//! that was closed, a phone that was unplugged. `eprintln!` and `println!` panic then, and the
//! report would be lost; these do not care. A report is no line: [`run`](crate::run) writes it.

use std::fmt::Display;
use std::io::{self, Write};

/// Say a line on stderr, to whoever still listens.
pub fn say(line: impl Display) {
    put(&mut io::stderr().lock(), format_args!("{line}\n"));
}

/// Print a line of data on stdout, for whoever still reads.
pub fn print(line: impl Display) {
    put(&mut io::stdout().lock(), format_args!("{line}\n"));
}

fn put(out: &mut impl Write, text: std::fmt::Arguments<'_>) {
    // Whoever closed it does not want to know.
    let _ = out.write_fmt(text).and_then(|()| out.flush());
}
