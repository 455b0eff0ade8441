//! An authority in a folder: every decision is durable before anybody is told.
//!
//! What deliberately does not live here: the six steps (`pocketsim_protocols::token`), and what a
//! client does.

use std::path::Path;

use pocketsim_protocols::crypto::Real;
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::disk::{append, recover, JOURNAL};
use pocketsim_protocols::token::{
    decode_batch, encode_batch, first_proof_holds, Answer, Authority, Challenge, Denomination,
    Journal, Ledger, Record, Refusal, Rules, Submission, Token, Work,
};

use super::document::{is_checked, AnswerFile, SubmissionFile, BAD_SIGNATURE};
use super::files::Files;
use super::folder::{read_received, sent_name, Folder, REFUSED};
use super::keys::Identity;
use super::outcome::{AuthorityBooks, Meter, OffenceFigures, Outcome, Tally};
use super::settings::{Settings, SETTINGS};
use super::steps::{self, Purse};
use super::{amount, TokensError};

/// An authority whose folder is open.
pub struct AuthorityFolder<'a> {
    folder: Folder<'a>,
    identity: Identity,
    rules: Rules,
    authority: Authority<Real>,
    journal: Journal,
    meter: Meter,
}

/// Make a folder for an authority, and give its key.
///
/// # Errors
/// What the system says, or that something is there already.
pub fn new_authority(path: &Path, rules: Rules) -> Result<PublicKey, TokensError> {
    let identity = Folder::create(path, |identity| {
        let key = identity.public_key();
        let (_, journal) = Journal::snapshot(&Ledger::new(*key));
        vec![
            (SETTINGS, Settings::of_authority(key, rules).encode()),
            (JOURNAL, journal),
            (REFUSED, b"{}".to_vec()),
        ]
    })?;
    Ok(*identity.public_key())
}

impl<'a> AuthorityFolder<'a> {
    /// Open its folder, and bring in order what a crash has left.
    ///
    /// # Errors
    /// Damage, also a journal that says less than was handed out; the folder of a client or of
    /// nobody; another process in it.
    pub fn open(path: &Path, files: &'a dyn Files) -> Result<Self, TokensError> {
        let meter = Meter::start();
        let folder = Folder::open(path, files)?;
        let settings = Settings::read(&folder)?;
        let rules = settings.rules(&folder)?;
        let (identity, signer) = settings.identity(&folder)?;
        // Damage is found before anything is decided, not when it is counted.
        folder.refused()?;
        let recovered = Journal::recover(&folder.read(JOURNAL)?, identity.public_key());
        let recovered = recovered.map_err(|corrupt| {
            let reason = format!("byte {}: {}", corrupt.offset_bytes, corrupt.reason);
            folder.damaged(JOURNAL, &reason)
        })?;
        let opened = Self {
            folder,
            identity,
            rules,
            authority: Authority::with_ledger(signer, rules, recovered.ledger),
            journal: recovered.journal,
            meter,
        };
        let last = opened.last_order();
        let minted = opened.minted(last);
        // Before anything is written: what mends a torn tail would hide that it was cut.
        opened.folder.check_age(JOURNAL, last)?;
        opened.check_handed_out(last, &minted)?;
        opened.folder.perform(&recover(recovered.valid_bytes))?;
        opened.folder.restore_sent(last, &encode_batch(&minted))?;
        Ok(opened)
    }

    /// Mint `amount_cents` for `to`, in coins that pay every amount up to it, into `output`.
    ///
    /// # Errors
    /// An output that cannot be; its own key; what the disk says.
    pub fn mint(
        mut self,
        to: PublicKey,
        amount_cents: u64,
        challenge: Option<Challenge>,
        output: &Path,
    ) -> Result<Outcome, TokensError> {
        let output = self.folder.destination(output)?;
        if to == *self.identity.public_key() {
            return Err(TokensError::Usage(
                "an authority holds no tokens".to_owned(),
            ));
        }
        let number = self.last_order().checked_add(1);
        let purse = Purse {
            order: number.expect("fewer than 2^32 orders"),
            first: to,
            amount_cents,
            challenge,
        };
        let mut tally = Tally::of("mint");
        let (authority, work) = (&mut self.authority, &mut self.meter.work);
        let records = steps::mint(authority, &purse, work, |coin| tally.well(coin))?;
        self.record(&records)?;
        let batch = encode_batch(&self.minted(purse.order));
        let kept = self.folder.hand_out(purse.order, &batch, &output)?;
        let mut outcome = tally.end(&self.meter);
        outcome.kept = Some(kept);
        Ok(outcome)
    }

    /// Verify what a client has submitted; the answer goes into `output`.
    ///
    /// A file that is no submission to this authority is refused whole, and has no answer.
    ///
    /// # Errors
    /// A file that cannot be read, an output that cannot be; what the disk says.
    pub fn verify(mut self, submission: &Path, output: &Path) -> Result<Outcome, TokensError> {
        let output = self.folder.destination(output)?;
        let bytes = read_received(submission)?;
        let mut tally = Tally::of("verify");
        let opened = SubmissionFile::open(&bytes);
        self.meter.files_checked += usize::from(is_checked(&opened));
        match opened {
            Ok(file) if file.authority != *self.identity.public_key() => {
                tally.refuse_file(Refusal::UnknownAuthority.name(), None);
            }
            Ok(file) => {
                let answer = self.decide(file, &mut tally)?;
                self.folder.release(&output, &answer)?;
            }
            Err(BAD_SIGNATURE) => tally.refuse_file("bad_signature", Some(BAD_SIGNATURE.0)),
            Err(error) => tally.refuse_file("malformed", Some(error.0)),
        }
        self.folder.count_refused(tally.reasons())?;
        Ok(tally.end(&self.meter))
    }

    /// The books, and who cheated.
    ///
    /// # Errors
    /// A damaged count of refusals.
    pub fn books(&self) -> Result<AuthorityBooks, TokensError> {
        let ledger = self.authority.ledger();
        let books = ledger.books();
        let losses = ledger.losses_cents().into_iter();
        Ok(AuthorityBooks {
            role: "authority",
            key: hex::encode(self.identity.public_key().0),
            rules: self.rules.name(),
            minted_cents: books.minted_cents,
            redeemed_cents: books.redeemed_cents,
            circulating_cents: books.circulating_cents(),
            double_spent_cents: books.refused_cents,
            offences: ledger.offences().iter().map(OffenceFigures::from).collect(),
            losses_cents: losses
                .map(|(key, cents)| (hex::encode(key.0), cents))
                .collect(),
            refused: self.folder.refused()?,
            cost: self.meter.cost(0),
        })
    }

    /// All are durable together, and only then is the answer made.
    fn decide(&mut self, file: SubmissionFile, tally: &mut Tally) -> Result<Vec<u8>, TokensError> {
        let submitter = file.submitter;
        let (authority, work) = (&mut self.authority, &mut self.meter.work);
        let told = |submission: &Submission, answer: &Answer| count(tally, submission, answer);
        let (records, verdicts) = steps::decide(authority, file, work, told)?;
        self.record(&records)?;
        self.meter.files_signed += 1;
        let answer = AnswerFile {
            authority: *self.identity.public_key(),
            submitter,
            verdicts,
        };
        Ok(answer.seal(&self.identity))
    }

    /// That `minted`, the last order of the journal, is all that was handed out for it.
    ///
    /// A batch is kept in `sent` when the records of all its tokens are durable, so no end of a
    /// process leaves more there than in the journal: one that says less was cut since.
    fn check_handed_out(&self, order: u32, minted: &[Token]) -> Result<(), TokensError> {
        let Some(kept) = self.folder.sent(order)? else {
            return Ok(());
        };
        if kept == encode_batch(minted) {
            return Ok(());
        }
        let released = decode_batch(&kept).unwrap_or_default();
        let missing = released.iter().filter(|token| {
            !minted.contains(token)
                && token.authority == *self.identity.public_key()
                && first_proof_holds::<Real>(token, &mut Work::new())
        });
        let missing: Vec<&Token> = missing.collect();
        Err(match missing.is_empty() {
            false => self.cut_short(order, &missing, &released),
            true => self.folder.damaged(
                &sent_name(order),
                &format!("not the batch that {JOURNAL} has; without this file, it is made again"),
            ),
        })
    }

    fn cut_short(&self, order: u32, missing: &[&Token], released: &[Token]) -> TokensError {
        let cents = |token: &Token| Denomination::from_byte(token.value).map_or(0, |it| it.cents());
        let missing_cents = missing.iter().map(|token| cents(token)).sum();
        let released_cents = released.iter().map(cents).sum();
        let reason = format!(
            "an old copy, or cut off: {} of {} tokens ({} of {}) in {} are missing, and whatever \
             was decided after them; put back a copy that has them",
            missing.len(),
            released.len(),
            amount::show(missing_cents),
            amount::show(released_cents),
            sent_name(order),
        );
        self.folder.damaged(JOURNAL, &reason)
    }

    fn record(&mut self, records: &[Record]) -> Result<(), TokensError> {
        let bytes = steps::frames(&mut self.journal, records);
        match bytes.is_empty() {
            true => Ok(()),
            false => self.folder.perform(&append(bytes)),
        }
    }

    fn last_order(&self) -> u32 {
        steps::last_order(self.authority.ledger())
    }

    fn minted(&self, order: u32) -> Vec<Token> {
        steps::minted(self.authority.ledger(), order)
    }
}

fn count(tally: &mut Tally, submission: &Submission, answer: &Answer) {
    let denomination = Denomination::from_byte(submission.token.value);
    match (answer, denomination) {
        (
            Answer::Refused {
                reason, culprits, ..
            },
            _,
        ) => tally.refuse(&submission.token.serial, *reason, culprits),
        (_, denomination) => tally.well(denomination.expect("as it was minted")),
    }
}
