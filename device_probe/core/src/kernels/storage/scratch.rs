//! A folder of our own inside the user's, which goes away with whatever was measured in it.

use std::ffi::CString;
use std::fs;
use std::io::{Error, ErrorKind, Result as IoResult};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::kernel::Unmeasured;

/// Name of the file system of `path` (`ext4` and its elders are `ext`), its number in hexadecimal
/// when it is none that phones or computers usually have, or `unknown` when there is no such path.
pub fn filesystem_of(path: &Path) -> String {
    let Ok(magic) = filesystem_magic(path) else {
        return "unknown".into();
    };
    let known = FILESYSTEMS.iter().find(|(number, _)| *number == magic);
    known.map_or_else(|| format!("{magic:#x}"), |(_, name)| (*name).into())
}

/// A folder with a name that nothing else has; removed with its content on drop.
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// # Errors
    /// A folder that is memory, is not there or cannot be written.
    pub fn new(folder: &Path) -> Result<Self, Unmeasured> {
        let filesystem = filesystem_of(folder);
        if MEMORY.contains(&&filesystem[..]) {
            return Err(Unmeasured::because(format!(
                "{} is on {filesystem}, which is memory and no storage",
                folder.display()
            )));
        }
        Self::within(folder)
    }

    /// # Errors
    /// A folder that is no memory, is not there or cannot be written.
    pub fn in_memory(folder: &Path) -> Result<Self, Unmeasured> {
        let filesystem = filesystem_of(folder);
        if !MEMORY.contains(&&filesystem[..]) {
            return Err(Unmeasured::because(format!(
                "{} is no memory, but {filesystem}",
                folder.display()
            )));
        }
        Self::within(folder)
    }

    fn within(folder: &Path) -> Result<Self, Unmeasured> {
        let path = fresh_folder(folder).map_err(|error| {
            Unmeasured::because(format!("cannot write in {}: {error}", folder.display()))
        })?;
        Ok(Self { path })
    }

    /// Even in memory: tests look at what is kept, not at how long it takes.
    #[cfg(test)]
    pub fn for_tests() -> Self {
        let path = fresh_folder(&std::env::temp_dir()).expect("a folder");
        Self { path }
    }

    /// Where a file of this name goes.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nobody is left to tell; a folder that stays has a name that says whose it was.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn fresh_folder(folder: &Path) -> IoResult<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("pocketsim-probe-{}-{number}", std::process::id()));
        match fs::create_dir(&path) {
            // Left behind by a process that was killed and had our number.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|()| path),
        }
    }
}

fn filesystem_magic(path: &Path) -> IoResult<u32> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut answer = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: `path` ends with a zero and `answer` is valid for writes, both for the whole call.
    let status = unsafe { libc::statfs(path.as_ptr(), answer.as_mut_ptr()) };
    if status != 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: all zeros is a valid `statfs`, and the call has filled it.
    let answer = unsafe { answer.assume_init() };
    // Magic numbers have 32 bits; the field's type differs between C libraries.
    Ok(answer.f_type as u32)
}

/// From statfs(2) and the kernel's magic.h; the last two are of Android's emulated storage.
const FILESYSTEMS: [(u32, &str); 14] = [
    (0xef53, "ext"),
    (0xf2f5_2010, "f2fs"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x794c_7630, "overlay"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x2fc1_2fc1, "zfs"),
    (0x0102_1997, "9p"),
    (0x6969, "nfs"),
    (0x4d44, "fat"),
    (0x2011_bab0, "exfat"),
    (0x6573_5546, "fuse"),
    (0x5dca_2df5, "sdcardfs"),
];
const MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_have_names() {
        assert_eq!(filesystem_of(Path::new("/proc")), "0x9fa0");
        assert_eq!(filesystem_of(Path::new("/no/such/folder")), "unknown");
        assert_eq!(filesystem_of(Path::new("a\0b")), "unknown");
    }

    #[test]
    fn memory_is_no_storage() {
        let memory = Path::new("/dev/shm");
        if filesystem_of(memory) == "tmpfs" {
            let refused = Scratch::new(memory).err().expect("refused");
            let reason = "/dev/shm is on tmpfs, which is memory and no storage";
            assert_eq!(refused, Unmeasured::because(reason));
        }
    }

    #[test]
    fn storage_is_no_memory() {
        let refused = Scratch::in_memory(Path::new("/proc"))
            .err()
            .expect("refused");
        assert_eq!(
            refused,
            Unmeasured::because("/proc is no memory, but 0x9fa0")
        );
    }

    #[test]
    fn folders_of_one_process_differ_and_go_away() {
        let (one, two) = (Scratch::for_tests(), Scratch::for_tests());
        assert_ne!(one.path, two.path);
        fs::write(one.file("content"), "x").expect("written");
        let path = one.path.clone();
        drop(one);
        assert!(!path.exists());
        assert!(two.path.exists());
    }

    #[test]
    fn a_folder_that_was_left_behind_is_passed_over() {
        let outer = fresh_folder(&std::env::temp_dir()).expect("a folder");
        let first = fresh_folder(&outer).expect("a folder");
        let number: u32 = first
            .to_str()
            .and_then(|path| path.rsplit('-').next()?.parse().ok())
            .expect("a number");
        for ahead in 1..40 {
            let name = format!("pocketsim-probe-{}-{}", std::process::id(), number + ahead);
            fs::create_dir(outer.join(name)).expect("left behind");
        }
        assert!(fresh_folder(&outer).expect("another").exists());
        fs::remove_dir_all(outer).expect("removed");
    }
}
