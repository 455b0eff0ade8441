//! A disk that forgets what was not synced, when and as far as a test says.

use std::collections::BTreeMap;

use pocketsim_protocols::token::disk::DiskStep;

/// What a crash does with bytes that were not synced.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// They are gone.
    Lost,
    /// They are all there, as if they had been synced.
    Kept,
    /// This many bytes are there.
    Torn(usize),
    /// This many bytes are there, and zeros for the others.
    Zeroed(usize),
}

#[derive(Clone, Debug, Default)]
struct File {
    content: Vec<u8>,
    /// What a crash cannot take.
    durable: Vec<u8>,
}

/// Files by number, and their names.
#[derive(Clone, Debug, Default)]
pub struct FakeDisk {
    files: Vec<File>,
    names: BTreeMap<&'static str, usize>,
    durable_names: BTreeMap<&'static str, usize>,
}

impl FakeDisk {
    pub fn read(&self, name: &str) -> Option<&[u8]> {
        let number = self.names.get(name)?;
        Some(&self.files[*number].content)
    }

    pub fn perform(&mut self, step: &DiskStep) {
        match step {
            DiskStep::Create(name) => {
                self.names.insert(name, self.files.len());
                self.files.push(File::default());
            }
            DiskStep::Append(name, bytes) => self.file(name).content.extend(bytes),
            DiskStep::Truncate(name, length) => self.file(name).content.truncate(*length),
            DiskStep::Sync(name) => {
                let file = self.file(name);
                file.durable = file.content.clone();
            }
            DiskStep::Rename(from, to) => {
                let number = self.names.remove(from).expect("there is one");
                self.names.insert(to, number);
            }
            DiskStep::SyncDirectory => self.durable_names = self.names.clone(),
        }
    }

    /// Only the process dies: all is seen afterwards, and no more is durable than before.
    pub fn die(&mut self, step: Option<&DiskStep>) {
        let syncs = |step: &DiskStep| matches!(step, DiskStep::Sync(_) | DiskStep::SyncDirectory);
        let begun = step.filter(|step| !syncs(step));
        begun.into_iter().for_each(|step| self.perform(step));
    }

    /// A crash while `step` was under way, so that what it did is not synced.
    ///
    /// Names that were not synced are kept or gone, whatever the fate of bytes is.
    pub fn crash(&mut self, step: Option<&DiskStep>, fate: Fate, keeps_names: bool) {
        self.die(step);
        if !keeps_names {
            self.names = self.durable_names.clone();
        }
        self.durable_names = self.names.clone();
        self.files.iter_mut().for_each(|file| file.crash(fate));
    }

    fn file(&mut self, name: &str) -> &mut File {
        let number = self.names[name];
        &mut self.files[number]
    }
}

impl File {
    fn crash(&mut self, fate: Fate) {
        let durable = self.durable.len();
        match fate {
            Fate::Kept => {}
            Fate::Lost => self.content = self.durable.clone(),
            Fate::Torn(bytes) => self.content.truncate(durable + bytes),
            Fate::Zeroed(bytes) => {
                let kept = (durable + bytes).min(self.content.len());
                self.content[kept..].fill(0);
            }
        }
        // What is seen after a crash has been read from the disk.
        self.durable = self.content.clone();
    }
}
