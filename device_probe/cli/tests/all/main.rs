//! The command as processes, one subcommand a module.

mod command;
mod link;
mod serve;
mod tokens;
mod trade;
