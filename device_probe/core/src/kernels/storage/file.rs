//! Files: appending, with and without waiting for the storage, replacing, creating, and reading from
//! the page cache, from one that is open and of one that is not.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::scratch::Scratch;
use crate::kernel::{Repeat, Unmeasured};
use crate::kernels::inputs::{ensure, Generator, Pool};
use crate::tokens::files::{folder_of, Disk, Files as _};

pub(super) fn appending(
    scratch: Scratch,
    bytes: usize,
    sync: bool,
) -> Result<impl Repeat, Unmeasured> {
    let mut appender = Appender::new(scratch, bytes, sync)?;
    appender.append()?;
    let kept = fs::read(appender.scratch.file(NAME))?;
    ensure(kept == appender.block, "a file keeps something else")?;
    Ok(appender)
}

/// As folders of tokens do it.
pub(super) fn replacing(scratch: Scratch, bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let blocks = Pool::new(bytes, |generator| Ok(generator.bytes(bytes)))?;
    let mut replacer = Replacer { blocks, scratch };
    replacer.replace()?;
    let kept = fs::read(replacer.scratch.file(NAME))?;
    let first = Generator::new().bytes(bytes);
    ensure(kept == first, "a file keeps something else")?;
    Ok(move || replacer.replace())
}

/// As folders of tokens do it where there is no file of that name yet.
pub(super) fn creating(scratch: Scratch, bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let mut creator = Creator {
        blocks: Pool::new(bytes, |generator| Ok(generator.bytes(bytes)))?,
        created: 0,
        scratch,
    };
    creator.create()?;
    let kept = fs::read(creator.path(0))?;
    let first = Generator::new().bytes(bytes);
    ensure(kept == first, "a file keeps something else")?;
    Ok(creator)
}

pub(super) fn reading(scratch: Scratch, bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let mut reader = Reader::new(scratch, bytes)?;
    reader.read()?;
    ensure(reader.block == reader.expected, "a file has something else")?;
    Ok(move || reader.read())
}

/// As folders of tokens do it.
pub(super) fn opening(scratch: Scratch, bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let path = scratch.file(NAME);
    let content = Generator::new().bytes(bytes);
    fs::write(&path, &content)?;
    ensure(fs::read(&path)? == content, "a file has something else")?;
    Ok(move || {
        black_box(fs::read(&path)?);
        // It is there for as long as this is.
        let _ = &scratch;
        Ok(())
    })
}

struct Appender {
    file: File,
    block: Vec<u8>,
    written_bytes: usize,
    sync: bool,
    scratch: Scratch,
}

impl Appender {
    fn new(scratch: Scratch, bytes: usize, sync: bool) -> Result<Self, Unmeasured> {
        let mut options = File::options();
        let file = options.append(true).create_new(true);
        Ok(Self {
            file: file.open(scratch.file(NAME))?,
            block: Generator::new().bytes(bytes),
            written_bytes: 0,
            sync,
            scratch,
        })
    }

    fn append(&mut self) -> Result<(), Unmeasured> {
        self.file.write_all(&self.block)?;
        self.written_bytes += self.block.len();
        if self.sync {
            self.file.sync_all()?;
        }
        Ok(())
    }
}

impl Repeat for Appender {
    fn run(&mut self, iterations: u64) -> Result<(), Unmeasured> {
        (0..iterations).try_for_each(|_| self.append())
    }

    fn tidy(&mut self) -> Result<(), Unmeasured> {
        if self.written_bytes >= FILE_BYTES_MAX {
            self.file.set_len(0)?;
            self.written_bytes = 0;
        }
        Ok(())
    }
}

struct Replacer {
    blocks: Pool<Vec<u8>>,
    scratch: Scratch,
}

impl Replacer {
    fn replace(&mut self) -> Result<(), Unmeasured> {
        let path = self.scratch.file(NAME);
        Ok(Disk.replace(&path, self.blocks.turn())?)
    }
}

struct Creator {
    blocks: Pool<Vec<u8>>,
    created: usize,
    scratch: Scratch,
}

impl Creator {
    fn path(&self, number: usize) -> PathBuf {
        self.scratch.file(&format!("{NAME}-{number}"))
    }

    fn create(&mut self) -> Result<(), Unmeasured> {
        let path = self.path(self.created);
        Disk.replace(&path, self.blocks.turn())?;
        self.created += 1;
        Ok(())
    }
}

impl Repeat for Creator {
    fn run(&mut self, iterations: u64) -> Result<(), Unmeasured> {
        (0..iterations).try_for_each(|_| self.create())
    }

    fn tidy(&mut self) -> Result<(), Unmeasured> {
        if self.created >= CREATED_MAX {
            (0..self.created).try_for_each(|number| fs::remove_file(self.path(number)))?;
            self.created = 0;
            // What is left to do of it is not to be done while the next is timed.
            Disk.sync_directory(&folder_of(&self.path(0)))?;
        }
        Ok(())
    }
}

struct Reader {
    file: File,
    block: Vec<u8>,
    expected: Vec<u8>,
    offset: usize,
    _scratch: Scratch,
}

impl Reader {
    fn new(scratch: Scratch, bytes: usize) -> Result<Self, Unmeasured> {
        let content = Generator::new().bytes(READ_BYTES);
        let path = scratch.file(NAME);
        fs::write(&path, &content)?;
        Ok(Self {
            file: File::open(path)?,
            block: vec![0; bytes],
            expected: content[..bytes].to_vec(),
            offset: 0,
            _scratch: scratch,
        })
    }

    fn read(&mut self) -> Result<(), Unmeasured> {
        self.file
            .read_exact_at(&mut self.block, self.offset as u64)?;
        black_box(&self.block);
        self.offset = (self.offset + STEP_BYTES) % (READ_BYTES - self.block.len());
        Ok(())
    }
}

const NAME: &str = "blocks";
/// So that an hour of appending does not fill a phone.
const FILE_BYTES_MAX: usize = 16 << 20;
/// So many of 64 KiB fill no phone, and a folder with so many names finds each as fast as one of few.
const CREATED_MAX: usize = 256;
/// Fits every phone's page cache.
const READ_BYTES: usize = 1 << 20;
/// Odd and larger than a page: every read is of another page, at another place in it.
const STEP_BYTES: usize = 5_003;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_grows_by_every_block_up_to_its_bound() {
        let bytes = FILE_BYTES_MAX / 4;
        let mut appender = Appender::new(Scratch::for_tests(), bytes, false).expect("a file");
        let path = appender.scratch.file(NAME);
        let mut sizes = Vec::new();
        for _ in 0..6 {
            appender.tidy().expect("truncated");
            appender.run(1).expect("appended");
            sizes.push(fs::metadata(&path).expect("there").len() as usize / bytes);
        }
        assert_eq!(sizes, [1, 2, 3, 4, 1, 2]);
        drop(appender);
        assert!(!path.exists());
    }

    #[test]
    fn synced_blocks_are_there_too() {
        let mut appender = Appender::new(Scratch::for_tests(), 100, true).expect("a file");
        appender.append().expect("appended");
        appender.append().expect("appended");
        let kept = fs::read(appender.scratch.file(NAME)).expect("there");
        assert_eq!(kept, appender.block.repeat(2));
    }

    #[test]
    fn a_replaced_file_is_the_next_one_and_leaves_nothing_beside() {
        let mut replacer = Replacer {
            blocks: Pool::new(100, |generator| Ok(generator.bytes(100))).expect("blocks"),
            scratch: Scratch::for_tests(),
        };
        let path = replacer.scratch.file(NAME);
        let mut kept = Vec::new();
        for _ in 0..3 {
            replacer.replace().expect("replaced");
            kept.push(fs::read(&path).expect("there"));
        }
        assert_ne!(kept[0], kept[1]);
        assert_ne!(kept[1], kept[2]);
        let folder = path.parent().expect("a folder");
        assert_eq!(fs::read_dir(folder).expect("there").count(), 1);
    }

    #[test]
    fn a_created_file_is_new_and_goes_away_between_samples() {
        let mut creator = Creator {
            blocks: Pool::new(100, |generator| Ok(generator.bytes(100))).expect("blocks"),
            created: 0,
            scratch: Scratch::for_tests(),
        };
        let folder = folder_of(&creator.path(0));
        let count = || fs::read_dir(&folder).expect("there").count();
        creator.run(3).expect("created");
        creator.tidy().expect("nothing yet");
        assert_eq!(count(), 3);
        creator.run(CREATED_MAX as u64).expect("created");
        creator.tidy().expect("tidied");
        assert_eq!(count(), 0);
        creator.run(1).expect("created");
        assert_eq!(count(), 1);
    }

    #[test]
    fn reads_go_over_the_whole_file() {
        let content = Generator::new().bytes(READ_BYTES);
        let mut reader = Reader::new(Scratch::for_tests(), 65_536).expect("a file");
        let mut offsets = Vec::new();
        for _ in 0..500 {
            let offset = reader.offset;
            reader.read().expect("read");
            assert_eq!(reader.block, content[offset..offset + 65_536]);
            offsets.push(offset);
        }
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(offsets.len(), 500);
    }
}
