//! `probe tokens`: arguments to steps of an authority or a client, and what came of them.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::Subcommand;
use serde::Serialize;
use serde_json::Value;

use pocketsim_probe_core::tokens::files::Disk;
use pocketsim_probe_core::tokens::outcome::{Outcome, Refused};
use pocketsim_probe_core::tokens::{
    amount, is_authority, keys, new_authority, new_client, AuthorityFolder, Challenge,
    ClientFolder, Handshake, Intent, PublicKey, Requests, Rules, TokensError,
};

use crate::failure::Failure;
use crate::say::{print, say};

/// Arguments of `probe tokens`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    step: Step,
    /// Print what came of it as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Make the folder of an authority; prints its key.
    NewAuthority {
        /// Folder to be made.
        dir: PathBuf,
        /// The six steps of the thesis, or what its prototype does.
        #[arg(long, default_value = "thesis", value_parser = names(Rules::ALL.iter().map(|r| r.name())))]
        rules: String,
    },
    /// Make the folder of a client; prints its key.
    NewClient {
        /// Folder to be made.
        dir: PathBuf,
        /// Whose tokens it takes.
        #[arg(long, value_name = "KEY", value_parser = keys::parse_key)]
        authority: PublicKey,
        /// Whether who pays it has to sign its challenge.
        #[arg(long, default_value = "challenge", value_parser = names(Handshake::ALL.iter().map(|h| h.name())))]
        handshake: String,
    },
    /// As an authority: mint tokens, in coins that pay every amount up to theirs.
    Mint {
        /// Folder of the authority.
        dir: PathBuf,
        /// Who gets them.
        #[arg(long = "for", value_name = "KEY", value_parser = keys::parse_key)]
        payee: PublicKey,
        #[command(flatten)]
        payment: Payment,
    },
    /// As a client: draw a challenge for who is to pay or to mint; prints it.
    Request {
        /// Folder of the client.
        dir: PathBuf,
        /// Who is to pay, or the authority for new tokens; nobody else can answer.
        #[arg(long = "from", value_name = "KEY", value_parser = keys::parse_key)]
        giver: PublicKey,
    },
    /// As a client: give requests up that nobody has answered; who has signed for one has paid, and
    /// is refused.
    Forget {
        /// Folder of the client.
        dir: PathBuf,
        #[command(flatten)]
        requests: Which,
    },
    /// As a client: sign tokens over to another.
    Pay {
        /// Folder of the client.
        dir: PathBuf,
        /// Who gets them.
        #[arg(long = "to", value_name = "KEY", value_parser = keys::parse_key)]
        payee: PublicKey,
        #[command(flatten)]
        payment: Payment,
    },
    /// As a client: take the tokens of a batch.
    Receive {
        /// Folder of the client.
        dir: PathBuf,
        /// What was minted or paid.
        batch: PathBuf,
    },
    /// As a client: sign over to the authority what it has not verified.
    Submit {
        /// Folder of the client.
        dir: PathBuf,
        /// Everything, and for its value instead of fresh tokens.
        #[arg(long)]
        redeem: bool,
        /// File of the submission.
        #[arg(short, long)]
        output: PathBuf,
    },
    /// As an authority: reissue, redeem or refuse what was submitted.
    Verify {
        /// Folder of the authority.
        dir: PathBuf,
        /// What a client submits.
        submission: PathBuf,
        /// File of the answer.
        #[arg(short, long)]
        output: PathBuf,
    },
    /// As a client: take the authority's answer.
    Settle {
        /// Folder of the client.
        dir: PathBuf,
        /// What the authority answers.
        answer: PathBuf,
    },
    /// What a client holds, or the books of an authority.
    Show {
        /// Folder of either.
        dir: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The one with this challenge.
    #[arg(long, value_name = "HEX", value_parser = keys::parse_challenge)]
    challenge: Option<Challenge>,
    /// All that this key was asked for.
    #[arg(long, value_name = "KEY", value_parser = keys::parse_key)]
    from: Option<PublicKey>,
}

#[derive(Debug, clap::Args)]
struct Payment {
    /// How much, to the cent.
    #[arg(long, value_name = "12.34", value_parser = amount::parse)]
    amount: u64,
    /// What the receiver asks for.
    #[arg(long, value_name = "HEX", value_parser = keys::parse_challenge)]
    challenge: Option<Challenge>,
    /// File of the batch.
    #[arg(short, long)]
    output: PathBuf,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.step {
        Step::NewAuthority { dir, rules } => {
            let rules = by_name(Rules::ALL, Rules::name, rules);
            tell_key(&new_authority(dir, rules).map_err(failure)?, arguments.json);
            Ok(ExitCode::SUCCESS)
        }
        Step::NewClient {
            dir,
            authority,
            handshake,
        } => {
            let handshake = by_name(Handshake::ALL, Handshake::name, handshake);
            let key = new_client(dir, authority, handshake).map_err(failure)?;
            tell_key(&key, arguments.json);
            Ok(ExitCode::SUCCESS)
        }
        Step::Show { dir } => {
            let figures = figures(dir).map_err(failure)?;
            show(&figures, arguments.json);
            Ok(ExitCode::SUCCESS)
        }
        step => {
            let outcome = step.take().map_err(failure)?;
            tell(&outcome, arguments.json)
        }
    }
}

impl Step {
    fn take(&self) -> Result<Outcome, TokensError> {
        let authority = |dir| AuthorityFolder::open(dir, &Disk);
        let client = |dir| ClientFolder::open(dir, &Disk);
        match self {
            Self::Mint {
                dir,
                payee,
                payment: to,
            } => authority(dir)?.mint(*payee, to.amount, to.challenge, &to.output),
            Self::Pay {
                dir,
                payee,
                payment: to,
            } => client(dir)?.pay(*payee, to.amount, to.challenge, &to.output),
            Self::Request { dir, giver } => client(dir)?.request(*giver),
            Self::Forget { dir, requests } => client(dir)?.forget(requests.which()),
            Self::Receive { dir, batch } => client(dir)?.receive(batch),
            Self::Submit {
                dir,
                redeem,
                output,
            } => client(dir)?.submit(intent(*redeem), output),
            Self::Verify {
                dir,
                submission,
                output,
            } => authority(dir)?.verify(submission, output),
            Self::Settle { dir, answer } => client(dir)?.settle(answer),
            Self::NewAuthority { .. } | Self::NewClient { .. } | Self::Show { .. } => {
                unreachable!("they have no outcome")
            }
        }
    }
}

impl Which {
    fn which(&self) -> Requests {
        match (self.challenge, self.from) {
            (Some(challenge), _) => Requests::Of(challenge),
            (None, Some(giver)) => Requests::From(giver),
            (None, None) => unreachable!("the parser wants one of them"),
        }
    }
}

fn figures(dir: &std::path::Path) -> Result<Value, TokensError> {
    match is_authority(dir)? {
        true => Ok(value(&AuthorityFolder::open(dir, &Disk)?.books()?)),
        false => Ok(value(&ClientFolder::open(dir, &Disk)?.balance()?)),
    }
}

fn intent(redeem: bool) -> Intent {
    match redeem {
        true => Intent::Redeem,
        false => Intent::Reissue,
    }
}

fn failure(error: TokensError) -> Failure {
    match error {
        TokensError::Usage(_) | TokensError::Damaged { .. } => Failure::usage(error),
        TokensError::Environment(_) => Failure::environment(error),
    }
}

fn tell_key(key: &PublicKey, json: bool) {
    let key = keys::show_key(key);
    match json {
        true => print(serde_json::json!({ "key": key })),
        false => print(key),
    }
}

fn show(figures: &Value, json: bool) {
    if json {
        return print(pretty(figures));
    }
    let figures = figures.as_object().expect("figures have names");
    for (name, value) in figures.iter().filter(|(name, _)| *name != COST) {
        match (name.strip_suffix("_cents"), value.as_u64(), value) {
            (Some(name), Some(cents), _) => print(format_args!("{name}: {}", amount::show(cents))),
            (_, _, Value::String(text)) => print(format_args!("{name}: {text}")),
            _ => print(format_args!("{name}: {value}")),
        }
    }
}

fn tell(outcome: &Outcome, json: bool) -> Result<ExitCode, Failure> {
    if json {
        print(pretty(&value(outcome)));
    } else if let Some(challenge) = &outcome.challenge {
        print(challenge);
    }
    for refused in &outcome.refused {
        say(refusal(refused));
    }
    if let Some(kept) = &outcome.kept {
        say(format_args!("a copy is kept in {}", kept.display()));
    }
    say(summary(outcome));
    match outcome.refused.len() {
        0 => Ok(ExitCode::SUCCESS),
        count => Err(Failure::check(format!("{count} refused"))),
    }
}

fn refusal(refused: &Refused) -> String {
    let what = match &refused.serial {
        Some(serial) => format!("token {serial}"),
        None => "the file".to_owned(),
    };
    let mut line = format!("{what} refused: {}", refused.reason);
    if let Some(detail) = refused.detail {
        line += &format!(" ({detail})");
    }
    if !refused.culprits.is_empty() {
        line += &format!(", signed twice by {}", refused.culprits.join(" and "));
    }
    line
}

fn summary(outcome: &Outcome) -> String {
    let cost = &outcome.cost;
    format!(
        "{}: {} in {} tokens; {} signatures made, {} checked, {:.6} s CPU, {:.0} tokens/s",
        outcome.step,
        amount::show(outcome.amount_cents),
        outcome.tokens,
        cost.signatures_made,
        cost.signatures_checked,
        cost.cpu_s,
        cost.tokens_per_s
    )
}

fn value(figures: &impl Serialize) -> Value {
    serde_json::to_value(figures).expect("figures are serialisable")
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a value is serialisable")
}

fn names(names: impl Iterator<Item = &'static str>) -> PossibleValuesParser {
    PossibleValuesParser::new(names.collect::<Vec<_>>())
}

fn by_name<T: Copy>(all: &[T], name: fn(T) -> &'static str, wanted: &str) -> T {
    let found = all.iter().find(|&&one| name(one) == wanted);
    *found.expect("the parser takes names of these only")
}

/// What showing took is for programs: people see that nothing was done.
const COST: &str = "cost";
