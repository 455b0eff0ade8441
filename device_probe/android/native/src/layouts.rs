//! Holds our C headers for bionic (tools/android/include) against the `libc` crate: SQLite is
//! compiled with them. A layout or a number that differs fails the build.

use std::mem::{offset_of, size_of};

use libc::{c_int, flock, pthread_mutex_t, pthread_mutexattr_t, stat, timespec, timeval, tm};

const _: () = {
    assert!(
        size_of::<stat>()
            == if cfg!(target_arch = "aarch64") {
                128
            } else {
                144
            }
    );
    assert!(offset_of!(stat, st_ino) == 8);
    assert!(
        offset_of!(stat, st_mode)
            == if cfg!(target_arch = "aarch64") {
                16
            } else {
                24
            }
    );
    assert!(
        offset_of!(stat, st_uid)
            == if cfg!(target_arch = "aarch64") {
                24
            } else {
                28
            }
    );
    assert!(offset_of!(stat, st_size) == 48);
    assert!(offset_of!(stat, st_mtime) == 88);

    assert!(size_of::<flock>() == 32);
    assert!(offset_of!(flock, l_start) == 8);
    assert!(offset_of!(flock, l_pid) == 24);

    assert!(size_of::<tm>() == 56);
    assert!(offset_of!(tm, tm_gmtoff) == 40);
    assert!(size_of::<timespec>() == 16 && size_of::<timeval>() == 16);
    assert!(size_of::<pthread_mutex_t>() == 40 && size_of::<pthread_mutexattr_t>() == 8);
};

/// Name in the headers, and the value there.
macro_rules! numbers {
    ($($name:ident = $value:expr),+ $(,)?) => {
        const _: () = { $(assert!(libc::$name == $value as c_int);)+ };
    };
}

numbers! {
    EPERM = 1, ENOENT = 2, EINTR = 4, EIO = 5, EAGAIN = 11, EACCES = 13, EBUSY = 16,
    EEXIST = 17, ENOTDIR = 20, EISDIR = 21, EINVAL = 22, ENOSPC = 28, ERANGE = 34,
    EDEADLK = 35, ENOLCK = 37, ENOTCONN = 107, ETIMEDOUT = 110,
    O_RDONLY = 0, O_RDWR = 2, O_CREAT = 0o100, O_EXCL = 0o200, O_CLOEXEC = 0o2_000_000,
    O_NOFOLLOW = if cfg!(target_arch = "aarch64") { 0o100_000 } else { 0o400_000 },
    F_GETFD = 1, F_SETFD = 2, F_GETLK = 5, F_SETLK = 6, F_SETLKW = 7, FD_CLOEXEC = 1,
    F_RDLCK = 0, F_WRLCK = 1, F_UNLCK = 2,
    SEEK_SET = 0, SEEK_CUR = 1, SEEK_END = 2, F_OK = 0, R_OK = 4, W_OK = 2, X_OK = 1,
    _SC_PAGESIZE = 0x27, PTHREAD_MUTEX_RECURSIVE = 1,
    // The crate has no MREMAP_MAYMOVE for Android; it is 1 in Linux's own mman.h.
    PROT_READ = 1, PROT_WRITE = 2, MAP_SHARED = 1,
    RTLD_NOW = 2, RTLD_GLOBAL = 0x100,
}
