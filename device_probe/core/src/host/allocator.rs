//! How this process gets the memory of large buffers.

/// From now on take what is large fresh from the system, and give it back when it is freed.
///
/// An endpoint of quinn has a zeroed buffer of 3 MB (quinn 0.11, `RecvState::new`: 32 datagrams of 64
/// segments of 1472 B). Fresh from the system it is zero already, and only what is used of it costs
/// anything. But the GNU C library learns from the first that is freed to keep them in its heaps
/// (`M_MMAP_THRESHOLD` in mallopt(3)), and zeroes 736 pages for every later one: dials over the
/// loopback at 20 to 300/s took 1.2 to 1.5 times as long. Who sets the threshold, to the value that
/// it has, ends that. Other C libraries do not learn, and nothing happens there.
pub fn take_large_buffers_fresh() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const INITIAL_THRESHOLD_BYTES: libc::c_int = 128 * 1024;
        // SAFETY: it takes two numbers and sets one; it locks the heap for that.
        let accepted = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, INITIAL_THRESHOLD_BYTES) };
        assert_eq!(accepted, 1, "it is below half of the largest heap");
    }
}
