//! The folder of an authority or a client: made whole or not at all, and one process at a time in it.
//!
//! | file | what |
//! |---|---|
//! | `key` | the private key, 74 bytes as libsodium's users in the prototype keep it |
//! | `settings.json` | whose folder it is, and by which rules |
//! | `tokens.journal` | an authority's records |
//! | `wallet` | a client's tokens and challenges |
//! | `refused.json` | how often what was refused |
//! | `sent/N.tokens` | what was released, to be handed over again if it got lost |
//! | `lock` | empty; whoever works here has it locked |
//!
//! What deliberately does not live here: what is in these files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pocketsim_protocols::token::disk::DiskStep;

use super::files::{folder_of, Files};
use super::keys::{new_private_key, random, Identity};
use super::TokensError;
use crate::destination::Destination;

/// An open folder; nobody else has it open.
pub(super) struct Folder<'a> {
    path: PathBuf,
    files: &'a dyn Files,
    _lock: File,
}

impl<'a> Folder<'a> {
    /// Make a folder with a new key; `more` gives its other files. Under another name until it is
    /// whole, so that there is never half a folder, and never in the place of another.
    pub(super) fn create(
        path: &Path,
        more: impl FnOnce(&Identity) -> Vec<(&'static str, Vec<u8>)>,
    ) -> Result<Identity, TokensError> {
        let name = path.file_name().ok_or_else(|| {
            TokensError::Usage(format!("{}: name a folder to be made", path.display()))
        })?;
        let private = new_private_key()?;
        let (identity, _) = Identity::from_private(&private).expect("as it was made");
        let mut files = more(&identity);
        files.extend([(KEY, private), (LOCK, Vec::new())]);
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", hex::encode(random::<8>()?)));
        let hidden = folder_of(path).join(hidden);
        let made = fill(&hidden, &files).and_then(|()| name_it(&hidden, path));
        made.map_err(|error| {
            // Only what was made here, of which nobody was told.
            let _ = fs::remove_dir_all(&hidden);
            TokensError::named(path, &error)
        })?;
        Ok(identity)
    }

    /// Open it, if no other process has.
    pub(super) fn open(path: &Path, files: &'a dyn Files) -> Result<Self, TokensError> {
        let lock = File::open(path.join(LOCK)).map_err(|error| {
            let path = path.display();
            TokensError::Usage(format!("{path}: no folder of tokens: lock: {error}"))
        })?;
        take_lock(&lock).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                let path = path.display();
                TokensError::Environment(format!("{path}: another process is at work in it"))
            }
            _ => TokensError::of(path, &error),
        })?;
        // Who has delivered everything may have deleted it.
        make_sent(path).map_err(|error| TokensError::of(&path.join(SENT), &error))?;
        Ok(Self {
            path: path.to_owned(),
            files,
            _lock: lock,
        })
    }

    /// One of its files.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, TokensError> {
        fs::read(self.path.join(name)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.damaged(name, "is missing"),
            _ => TokensError::of(&self.path.join(name), &error),
        })
    }

    /// Put a whole file in the place of another; it is durable then.
    pub(super) fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), TokensError> {
        let path = self.path.join(name);
        let replaced = self.files.replace(&path, bytes);
        replaced.map_err(|error| TokensError::of(&path, &error))
    }

    /// What the machine of the journal asks for.
    pub(super) fn perform(&self, steps: &[DiskStep]) -> Result<(), TokensError> {
        let done = steps.iter().try_for_each(|step| self.step(step));
        done.map_err(|error| TokensError::of(&self.path, &error))
    }

    /// Keep a batch that can no longer be taken back, then write it where it is to leave from.
    pub(super) fn hand_out(
        &self,
        number: u32,
        batch: &[u8],
        to: &Destination,
    ) -> Result<PathBuf, TokensError> {
        let kept = self.keep_sent(number, batch).map_err(|error| {
            TokensError::Environment(format!(
                "{error}; the batch is made, and opening the folder (`show`) puts it into {SENT}"
            ))
        })?;
        self.release(to, batch).map_err(|error| {
            let kept = kept.display();
            TokensError::Environment(format!("{error}; the batch is made and lies in {kept}"))
        })?;
        Ok(kept)
    }

    fn keep_sent(&self, number: u32, batch: &[u8]) -> Result<PathBuf, TokensError> {
        let name = sent_name(number);
        self.replace(&name, batch)?;
        Ok(self.path.join(name))
    }

    /// That nothing was released after batch `number`, the last that the file `name` knows of: else
    /// an old copy of it was put back, and what it would release was released already.
    pub(super) fn check_age(&self, name: &str, number: u32) -> Result<(), TokensError> {
        let sent = self.path.join(SENT);
        let entries = fs::read_dir(&sent).map_err(|error| TokensError::of(&sent, &error))?;
        let released = entries
            .flatten()
            .filter_map(|entry| number_of(&entry.file_name()));
        match released.max().filter(|last| *last > number) {
            None => Ok(()),
            Some(last) => Err(self.damaged(
                name,
                &format!(
                    "an old copy, or cut off: it ends before {}, and to go on from it is to spend or \
                     mint twice; put back a copy from after that",
                    sent_name(last)
                ),
            )),
        }
    }

    /// The batch `number` as it was released, if it is still there; they are numbered from 1.
    pub(super) fn sent(&self, number: u32) -> Result<Option<Vec<u8>>, TokensError> {
        if number == 0 {
            return Ok(None);
        }
        let path = self.path.join(sent_name(number));
        match fs::read(&path) {
            Ok(batch) => Ok(Some(batch)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(TokensError::of(&path, &error)),
        }
    }

    /// Put the last batch back if the process ended before it was kept.
    pub(super) fn restore_sent(&self, number: u32, batch: &[u8]) -> Result<(), TokensError> {
        let path = self.path.join(sent_name(number));
        if number > 0 && !path.exists() {
            self.keep_sent(number, batch)?;
        }
        Ok(())
    }

    /// How often what was refused here, by reason.
    pub(super) fn refused(&self) -> Result<BTreeMap<String, u64>, TokensError> {
        let bytes = self.read(REFUSED)?;
        serde_json::from_slice(&bytes).map_err(|error| self.damaged(REFUSED, &error.to_string()))
    }

    /// Add to these counts.
    pub(super) fn count_refused<'r>(
        &self,
        reasons: impl Iterator<Item = &'r str>,
    ) -> Result<(), TokensError> {
        let mut reasons = reasons.peekable();
        if reasons.peek().is_none() {
            return Ok(());
        }
        let counted = count_more(&self.read(REFUSED)?, reasons);
        let bytes = counted.map_err(|error| self.damaged(REFUSED, &error.to_string()))?;
        self.replace(REFUSED, &bytes)
    }

    /// Where a file goes that the user names, before anything is spent on it.
    pub(super) fn destination(&self, output: &Path) -> Result<Destination, TokensError> {
        destination_outside(&self.path, output)
    }

    /// Write what is to leave; it is whole or not there.
    pub(super) fn release(&self, to: &Destination, bytes: &[u8]) -> Result<(), TokensError> {
        let written = match to {
            Destination::File(path) => self.files.replace(path, bytes),
            Destination::Other(path) => {
                let mut other = OpenOptions::new().write(true).open(path);
                other.as_mut().map_or_else(
                    |error| Err(io::Error::new(error.kind(), error.to_string())),
                    |other| other.write_all(bytes),
                )
            }
        };
        written.map_err(|error| TokensError::of(to.path(), &error))
    }

    /// That a file is not as it was left.
    pub(super) fn damaged(&self, name: &str, reason: &str) -> TokensError {
        TokensError::Damaged {
            file: self.path.join(name),
            reason: reason.to_owned(),
        }
    }

    fn step(&self, step: &DiskStep) -> io::Result<()> {
        let path = |name: &&'static str| self.path.join(name);
        match step {
            DiskStep::Create(name) => self.files.create(&path(name)),
            DiskStep::Append(name, bytes) => self.files.append(&path(name), bytes),
            DiskStep::Truncate(name, bytes) => self.files.truncate(&path(name), *bytes as u64),
            DiskStep::Sync(name) => self.files.sync(&path(name)),
            DiskStep::Rename(from, to) => self.files.rename(&path(from), &path(to)),
            DiskStep::SyncDirectory => self.files.sync_directory(&self.path),
        }
    }
}

/// Where a file goes that the user names, which is not in the folder `own`.
pub(crate) fn destination_outside(own: &Path, output: &Path) -> Result<Destination, TokensError> {
    let destination =
        Destination::of(output).map_err(|error| TokensError::named(output, &error))?;
    let folder = folder_of(destination.path()).canonicalize();
    let folder = folder.map_err(|error| TokensError::named(output, &error))?;
    let within = own.canonicalize();
    let within = within.map_err(|error| TokensError::of(own, &error))?;
    if folder.starts_with(&within) {
        let output = output.display();
        return Err(TokensError::Usage(format!(
            "{output}: lies in the folder itself, whose files are its own"
        )));
    }
    Ok(destination)
}

/// The counts of refusals that are in `bytes`, and one more for each reason, as bytes again.
pub(crate) fn count_more<'r>(
    bytes: &[u8],
    reasons: impl Iterator<Item = &'r str>,
) -> serde_json::Result<Vec<u8>> {
    let mut counts: BTreeMap<String, u64> = serde_json::from_slice(bytes)?;
    for reason in reasons {
        let count = counts.entry(reason.to_owned()).or_default();
        *count = count.saturating_add(1);
    }
    serde_json::to_vec(&counts)
}

/// The bytes of a file that came from elsewhere.
pub(super) fn read_received(path: &Path) -> Result<Vec<u8>, TokensError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| {
        let mut file = file.take(RECEIVED_BYTES_MAX + 1);
        file.read_to_end(&mut bytes)
    });
    read.map_err(|error| TokensError::named(path, &error))?;
    if bytes.len() as u64 > RECEIVED_BYTES_MAX {
        let path = path.display();
        return Err(TokensError::Usage(format!(
            "{path}: more than {RECEIVED_BYTES_MAX} bytes"
        )));
    }
    Ok(bytes)
}

fn fill(folder: &Path, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    DirBuilder::new().mode(OWNER_ONLY).create(folder)?;
    make_sent(folder)?;
    for (name, bytes) in files {
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(folder.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    File::open(folder)?.sync_all()
}

/// Of a batch, within the folder.
pub(super) fn sent_name(number: u32) -> String {
    format!("{SENT}/{number}.tokens")
}

/// Of a batch in `sent`, by the name that it has there.
fn number_of(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_suffix(".tokens")?.parse().ok()
}

fn make_sent(folder: &Path) -> io::Result<()> {
    let made = DirBuilder::new().mode(OWNER_ONLY).create(folder.join(SENT));
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|()| File::open(folder)?.sync_all()),
    }
}

/// The system replaces no folder but an empty one.
fn name_it(hidden: &Path, path: &Path) -> io::Result<()> {
    fs::rename(hidden, path)?;
    File::open(folder_of(path))?.sync_all()
}

/// Until the file is closed, however the process ends.
fn take_lock(file: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` is.
    let status = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Name of the file with the counts of refusals.
pub(super) const REFUSED: &str = "refused.json";
/// Name of the file with the private key.
pub(super) const KEY: &str = "key";
const LOCK: &str = "lock";
const SENT: &str = "sent";
const OWNER_ONLY: u32 = 0o700;
/// A hundred thousand tokens of three recipients; they are all in memory at once.
pub(super) const RECEIVED_BYTES_MAX: u64 = 64 << 20;
