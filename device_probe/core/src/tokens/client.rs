//! A client in a folder: what is signed away is durably gone before anybody gets it.
//!
//! What deliberately does not live here: what is taken and refused (`pocketsim_protocols::token`),
//! and what the authority does.

use std::path::Path;

use pocketsim_protocols::crypto::Real;
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::{
    decode_batch, encode_batch, Asked, Busy, Challenge, Client, Denomination, Handshake, Intent,
    Receipt, Refusal, Serial, Token,
};

use super::document::{is_checked, AnswerFile, SubmissionFile, BAD_SIGNATURE};
use super::files::Files;
use super::folder::{read_received, Folder, RECEIVED_BYTES_MAX, REFUSED};
use super::keys::{random, Identity};
use super::outcome::{ClientBalance, Meter, Outcome, RequestFigures, Tally};
use super::settings::{Settings, SETTINGS};
use super::steps;
use super::wallet_file::WalletFile;
use super::{amount, TokensError};

/// A client whose folder is open.
pub struct ClientFolder<'a> {
    folder: Folder<'a>,
    identity: Identity,
    authority: PublicKey,
    handshake: Handshake,
    client: Client<Real>,
    payments: u32,
    last_payment: Vec<u8>,
    meter: Meter,
}

/// Which requests to give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// The one with this challenge.
    Of(Challenge),
    /// All that this key was asked for.
    From(PublicKey),
}

/// Make a folder for a client that takes tokens of `authority`, and give its key.
///
/// # Errors
/// What the system says, or that something is there already.
pub fn new_client(
    path: &Path,
    authority: &PublicKey,
    handshake: Handshake,
) -> Result<PublicKey, TokensError> {
    let identity = Folder::create(path, |identity| {
        let key = identity.public_key();
        let settings = Settings::of_client(key, authority, handshake);
        vec![
            (SETTINGS, settings.encode()),
            (WALLET, WalletFile::new(*key).encode()),
            (REFUSED, b"{}".to_vec()),
        ]
    })?;
    Ok(*identity.public_key())
}

impl<'a> ClientFolder<'a> {
    /// Open its folder; if the process ended while it paid, the batch is put back into `sent`.
    ///
    /// # Errors
    /// Damage, the folder of an authority or of nobody, or another process in it.
    pub fn open(path: &Path, files: &'a dyn Files) -> Result<Self, TokensError> {
        let meter = Meter::start();
        let folder = Folder::open(path, files)?;
        let settings = Settings::read(&folder)?;
        let (authority, handshake) = settings.client(&folder)?;
        let (identity, signer) = settings.identity(&folder)?;
        // Damage is found before anything is decided, not when it is counted.
        folder.refused()?;
        let damaged = |reason| folder.damaged(WALLET, reason);
        let file = WalletFile::decode(&folder.read(WALLET)?).map_err(|error| damaged(error.0))?;
        if file.owner != *identity.public_key() {
            return Err(damaged("the wallet of another key"));
        }
        let client = Client::restore(signer, vec![authority], handshake, file.state);
        let client = client.map_err(|error| damaged(error.0))?;
        folder.check_age(WALLET, file.payments)?;
        folder.restore_sent(file.payments, &file.last_payment)?;
        Ok(Self {
            folder,
            identity,
            authority,
            handshake,
            client,
            payments: file.payments,
            last_payment: file.last_payment,
            meter,
        })
    }

    /// Draw a challenge for a payment by `giver`, or for an order of new tokens if that is the
    /// authority.
    ///
    /// # Errors
    /// A client without a handshake; too many requests that nobody has answered; what the disk
    /// says.
    pub fn request(mut self, giver: PublicKey) -> Result<Outcome, TokensError> {
        let challenge = match self.client.challenge(random()?, giver) {
            Ok(Some(challenge)) => challenge,
            Ok(None) => {
                return Err(usage(
                    "this client asks for no challenge: its handshake is none",
                ))
            }
            Err(Busy) => return Err(usage(BUSY)),
        };
        self.save()?;
        let mut outcome = Tally::of("request").end(&self.meter);
        outcome.challenge = Some(hex::encode(challenge));
        Ok(outcome)
    }

    /// Give requests up that nobody has answered: who has signed an answer all the same has paid,
    /// and is refused.
    ///
    /// # Errors
    /// No such request; what the disk says.
    pub fn forget(mut self, which: Requests) -> Result<Outcome, TokensError> {
        let requests = self.requests();
        let found = requests.iter().filter(|asked| match which {
            Requests::Of(challenge) => asked.challenge == challenge,
            Requests::From(giver) => asked.giver == giver,
        });
        let forgotten = found.filter(|asked| self.client.forget(&asked.challenge));
        if forgotten.count() == 0 {
            return Err(usage("there is no such request, or it was answered"));
        }
        self.save()?;
        Ok(Tally::of("forget").end(&self.meter))
    }

    /// Take the tokens in a batch, each if it is good.
    ///
    /// # Errors
    /// A file that cannot be read; what the disk says.
    pub fn receive(mut self, batch: &Path) -> Result<Outcome, TokensError> {
        let bytes = read_received(batch)?;
        let mut tally = Tally::of("receive");
        match decode_batch(&bytes) {
            Ok(tokens) if tokens.is_empty() => {
                tally.refuse_file("malformed", Some("nothing in it"));
            }
            Ok(tokens) => {
                let receipts = self.client.receive(tokens, &mut self.meter.work);
                self.save()?;
                receipts
                    .iter()
                    .for_each(|receipt| count(&mut tally, receipt));
            }
            Err(error) => tally.refuse_file("malformed", Some(error.0)),
        }
        self.finish(tally)
    }

    /// Pay `amount_cents` to `to`; the batch goes into `output`.
    ///
    /// The wallet without the tokens is durable before the batch leaves. If it does not get
    /// there, it lies in `sent`, to be handed over again.
    ///
    /// # Errors
    /// What cannot be paid exactly; an output that cannot be; what the disk says.
    pub fn pay(
        mut self,
        to: PublicKey,
        amount_cents: u64,
        challenge: Option<Challenge>,
        output: &Path,
    ) -> Result<Outcome, TokensError> {
        let output = self.folder.destination(output)?;
        if to == self.authority {
            return Err(usage("the authority is no payee; submit --redeem"));
        }
        let work = &mut self.meter.work;
        let paid = self.client.pay(amount_cents, to, challenge, work);
        let tokens = paid.map_err(|unpayable| {
            self.unpayable(
                amount_cents,
                unpayable.nearest_above_cents,
                challenge.is_some(),
            )
        })?;
        self.last_payment = encode_batch(&tokens);
        if self.last_payment.len() as u64 > RECEIVED_BYTES_MAX {
            return Err(usage(
                "more than anybody reads as one batch: pay less at once",
            ));
        }
        self.payments = self.payments.checked_add(1).expect("fewer than 2^32");
        self.save()?;
        let batch = &self.last_payment;
        let kept = self.folder.hand_out(self.payments, batch, &output)?;
        let mut tally = Tally::of("pay");
        tokens
            .iter()
            .for_each(|token| tally.well(denomination(token)));
        let mut outcome = tally.end(&self.meter);
        outcome.kept = Some(kept);
        Ok(outcome)
    }

    /// Sign over to the authority what it has not verified, or with [`Intent::Redeem`] all that is
    /// held; what got no answer goes again. The submission goes into `output`; what would make it
    /// longer than the authority reads stays for the next.
    ///
    /// # Errors
    /// Nothing to submit; an output that cannot be; what the disk says.
    pub fn submit(mut self, intent: Intent, output: &Path) -> Result<Outcome, TokensError> {
        let output = self.folder.destination(output)?;
        steps::submit(&mut self.client, intent, &mut self.meter.work)?;
        let pending = self.client.wallet().pending().cloned();
        let file = SubmissionFile {
            submitter: *self.identity.public_key(),
            authority: self.authority,
            requests: pending.collect(),
        };
        if file.requests.is_empty() {
            return Err(usage("nothing to submit"));
        }
        self.save()?;
        self.meter.files_signed += 1;
        self.folder.release(&output, &file.seal(&self.identity))?;
        let mut tally = Tally::of("submit");
        let tokens = file.requests.iter();
        tokens.for_each(|(token, _)| tally.well(denomination(token)));
        Ok(tally.end(&self.meter))
    }

    /// Take the authority's answer.
    ///
    /// # Errors
    /// A file that cannot be read; what the disk says.
    pub fn settle(mut self, answer: &Path) -> Result<Outcome, TokensError> {
        let bytes = read_received(answer)?;
        let mut tally = Tally::of("settle");
        let opened = AnswerFile::open(&bytes);
        self.meter.files_checked += usize::from(is_checked(&opened));
        match opened {
            Ok(file) if file.authority != self.authority => {
                tally.refuse_file(Refusal::UnknownAuthority.name(), None);
            }
            Ok(file) if file.submitter != *self.identity.public_key() => {
                tally.refuse_file(Refusal::WrongRecipient.name(), None);
            }
            Ok(file) => {
                let work = &mut self.meter.work;
                let told = |serial: &Serial, receipt: Option<Receipt>, culprits: &[PublicKey]| {
                    match receipt.map(|receipt| receipt.outcome) {
                        Some(Ok(denomination)) => tally.well(denomination),
                        Some(Err(reason)) => tally.refuse(serial, reason, culprits),
                        None => tally.refuse_as(serial, "not_pending"),
                    }
                };
                steps::settle(&mut self.client, file, work, told);
                self.save()?;
            }
            Err(BAD_SIGNATURE) => tally.refuse_file("bad_signature", Some(BAD_SIGNATURE.0)),
            Err(error) => tally.refuse_file("malformed", Some(error.0)),
        }
        self.finish(tally)
    }

    /// What it holds.
    ///
    /// # Errors
    /// A damaged count of refusals.
    pub fn balance(&self) -> Result<ClientBalance, TokensError> {
        let wallet = self.client.wallet();
        Ok(ClientBalance {
            role: "client",
            key: hex::encode(self.identity.public_key().0),
            authority: hex::encode(self.authority.0),
            handshake: self.handshake.name(),
            held_tokens: wallet.held().count(),
            held_cents: wallet.held_cents(),
            unverified_cents: wallet.unverified_cents(),
            pending_cents: wallet.pending_cents(),
            disputed_tokens: wallet.disputed().count(),
            requests: self.requests().iter().map(RequestFigures::from).collect(),
            payments: self.payments,
            refused: self.folder.refused()?,
            cost: self.meter.cost(0),
        })
    }

    /// What nobody has answered, payments before orders, the oldest of each first.
    fn requests(&self) -> Vec<Asked> {
        let state = self.client.state();
        [state.payments, state.orders].concat()
    }

    fn unpayable(&self, cents: u64, nearest: Option<u64>, challenged: bool) -> TokensError {
        let amount = amount::show(cents);
        let wallet = self.client.wallet();
        let other = wallet.select(cents, !challenged);
        let reason = match nearest {
            _ if other.is_some_and(|(change, _)| change.sum_cents == cents) => match challenged {
                true => "the tokens for it bear no challenges: pay without one".to_owned(),
                false => "the tokens for it bear challenges: ask the payee for one".to_owned(),
            },
            Some(cents) => format!("the nearest that can be is {}", amount::show(cents)),
            None => format!("{} can be spent", amount::show(wallet.held_cents())),
        };
        TokensError::Usage(format!("{amount} cannot be paid exactly: {reason}"))
    }

    fn save(&self) -> Result<(), TokensError> {
        let file = WalletFile {
            owner: *self.identity.public_key(),
            state: self.client.state(),
            payments: self.payments,
            last_payment: self.last_payment.clone(),
        };
        self.folder.replace(WALLET, &file.encode())
    }

    fn finish(self, tally: Tally) -> Result<Outcome, TokensError> {
        self.folder.count_refused(tally.reasons())?;
        Ok(tally.end(&self.meter))
    }
}

fn count(tally: &mut Tally, receipt: &Receipt) {
    match receipt.outcome {
        Ok(denomination) => tally.well(denomination),
        Err(reason) => tally.refuse(&receipt.serial, reason, &[]),
    }
}

fn denomination(token: &Token) -> Denomination {
    Denomination::from_byte(token.value).expect("a wallet holds denominations")
}

fn usage(reason: &str) -> TokensError {
    TokensError::Usage(reason.to_owned())
}

/// What a client says that can ask nobody else.
const BUSY: &str = "64 requests of this kind are unanswered; `probe tokens show` lists them, and \
    `probe tokens forget` gives up those that nobody has signed for";
/// Name of the file with tokens and challenges.
const WALLET: &str = "wallet";
