//! When a datagram reached this machine: the kernel's stamp, as a time on the relay's clock.
//!
//! What a datagram waits in the relay's own socket is part of the delay that a user asked for, so
//! it is due after its arrival, not after it was read. The kernel stamps by the wall clock, which
//! may be set while the relay runs; a stamp from around such a step counts as none.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use socket2::{MaybeUninitSlice, MsgHdrMut, SockAddr, SockRef};

/// A datagram that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its payload's length; the rest of the buffer is as it was.
    pub bytes: usize,
    /// Its sender.
    pub from: SocketAddr,
    /// When the kernel got it, since 1970 by the wall clock; none if the kernel does not say.
    pub stamp: Option<Duration>,
}

/// Ask the kernel to stamp what arrives; one that cannot gives datagrams without stamps. Linux
/// begins in the background: the first datagrams may be stamped when they are read.
pub fn ask_for_stamps(socket: &UdpSocket) {
    let on: libc::c_int = 1;
    // SAFETY: `on` is valid for reads of its size.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_TIMESTAMPNS,
            (&raw const on).cast(),
            std::mem::size_of_val(&on) as libc::socklen_t,
        );
    }
}

/// Read a datagram with its stamp.
///
/// # Errors
/// As for `recv_from`.
pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Received> {
    let mut from = SockAddr::from(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))); // the longer one
    let mut control = [MaybeUninit::new(0); CONTROL_BYTES];
    // SAFETY: the same memory for the same time; the kernel writes no uninitialised bytes to it.
    let buffer = unsafe {
        std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<MaybeUninit<u8>>(), buffer.len())
    };
    let mut slices = [MaybeUninitSlice::new(buffer)];
    let mut message = MsgHdrMut::new()
        .with_addr(&mut from)
        .with_buffers(&mut slices)
        .with_control(&mut control);
    let bytes = SockRef::from(socket).recvmsg(&mut message, 0)?;
    let control_bytes = message.control_len().min(CONTROL_BYTES);
    // SAFETY: every byte was set to zero above.
    let control = control.map(|byte| unsafe { byte.assume_init() });
    Ok(Received {
        bytes,
        from: from.as_socket().ok_or(io::ErrorKind::InvalidData)?,
        stamp: stamp(&control[..control_bytes]),
    })
}

/// The stamp in a control message: `cmsghdr` (length, level, type), then seconds and nanoseconds.
fn stamp(control: &[u8]) -> Option<Duration> {
    let int = |at: usize| Some(i32::from_ne_bytes(*control.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(isize::from_ne_bytes(*control.get(at..)?.first_chunk()?));
    if (int(WORD_BYTES)?, int(WORD_BYTES + 4)?) != (libc::SOL_SOCKET, SO_TIMESTAMPNS) {
        return None;
    }
    let seconds = u64::try_from(word(WORD_BYTES + 8)?).ok()?;
    let nanoseconds = u32::try_from(word(2 * WORD_BYTES + 8)?).ok()?;
    (nanoseconds < 1_000_000_000).then(|| Duration::new(seconds, nanoseconds))
}

/// The wall clock and the relay's, read together.
#[derive(Clone, Debug)]
pub struct Clocks {
    began: Instant,
    /// What the wall clock, as it is set now, would have said when the relay began.
    wall_at_began: Option<Duration>,
    is_steady: bool,
}

impl Clocks {
    /// With a relay's clock that is zero at `began`.
    pub fn new(began: Instant) -> Self {
        Self {
            began,
            wall_at_began: wall_at(began),
            is_steady: true,
        }
    }

    /// Read both again: before reading datagrams, so that their stamps are converted rightly.
    pub fn refresh(&mut self) {
        let fresh = wall_at(self.began);
        self.set(fresh);
    }

    fn set(&mut self, fresh: Option<Duration>) {
        let Some(fresh) = fresh else {
            return; // too busy to read both at once; the last reading holds
        };
        let known = self.wall_at_began.replace(fresh);
        self.is_steady = known.is_none_or(|known| known.abs_diff(fresh) < STEP_MIN);
    }

    /// When what has this stamp arrived, and `now` if that cannot be known.
    pub fn arrival(&self, stamp: Option<Duration>, now: Duration) -> Duration {
        match (stamp, self.wall_at_began) {
            (Some(stamp), Some(began)) if self.is_steady => stamp.saturating_sub(began).min(now),
            _ => now,
        }
    }
}

/// What the wall clock said at `began`, if both clocks can be read at once.
fn wall_at(began: Instant) -> Option<Duration> {
    (0..READ_TRIES).find_map(|_| {
        let before = began.elapsed();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let took = began.elapsed() - before;
        (took < READ_MAX).then(|| wall.saturating_sub(before + took / 2))
    })
}

/// Linux, include/uapi/asm-generic/socket.h; the control message has the option's number.
const SO_TIMESTAMPNS: libc::c_int = 35;
const WORD_BYTES: usize = std::mem::size_of::<usize>();
/// One stamp takes 32; nothing else is asked for.
const CONTROL_BYTES: usize = 64;
/// Reading a clock takes well below a microsecond; what takes longer was interrupted.
const READ_MAX: Duration = Duration::from_micros(20);
const READ_TRIES: usize = 3;
/// Whoever sets a clock sets it further; adjusting its speed moves both clocks alike.
const STEP_MIN: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn clocks() -> Clocks {
        Clocks {
            began: Instant::now(),
            wall_at_began: Some(s(1000)),
            is_steady: true,
        }
    }

    #[test]
    fn a_stamp_is_a_time_on_the_relays_clock() {
        let clocks = clocks();
        assert_eq!(clocks.arrival(Some(s(1003)), s(5)), s(3));
        assert_eq!(clocks.arrival(None, s(5)), s(5), "no stamp");
        assert_eq!(clocks.arrival(Some(s(1009)), s(5)), s(5), "never later");
        assert_eq!(clocks.arrival(Some(s(900)), s(5)), s(0), "before it began");
    }

    #[test]
    fn a_wall_clock_that_is_set_makes_stamps_worthless_until_the_next_look() {
        let mut clocks = clocks();
        clocks.set(Some(s(4600)));
        assert_eq!(clocks.arrival(Some(s(1003)), s(5)), s(5));
        clocks.set(Some(s(4600)));
        assert_eq!(clocks.arrival(Some(s(4603)), s(5)), s(3));
        clocks.set(None);
        assert_eq!(clocks.arrival(Some(s(4604)), s(5)), s(4));
    }

    #[test]
    fn what_is_no_stamp_is_none() {
        let mut control = [0; 2 * WORD_BYTES + 8 + WORD_BYTES];
        assert_eq!(stamp(&control), None);
        let mut put =
            |at: usize, bytes: &[u8]| control[at..at + bytes.len()].copy_from_slice(bytes);
        put(WORD_BYTES, &libc::SOL_SOCKET.to_ne_bytes());
        put(WORD_BYTES + 4, &SO_TIMESTAMPNS.to_ne_bytes());
        put(WORD_BYTES + 8, &7_isize.to_ne_bytes());
        put(2 * WORD_BYTES + 8, &9_isize.to_ne_bytes());
        assert_eq!(stamp(&control), Some(Duration::new(7, 9)));
        for length in 0..control.len() {
            assert_eq!(stamp(&control[..length]), None, "{length}");
        }
    }
}
