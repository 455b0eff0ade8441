//! The receive buffer of a socket, filled as the Linux kernel counts.

/// How full one socket's receive buffer is.
#[derive(Clone, Copy, Debug)]
pub struct SocketBuffer {
    used_bytes: u64,
}

impl SocketBuffer {
    /// Nothing in it.
    pub const EMPTY: SocketBuffer = SocketBuffer { used_bytes: 0 };

    /// Takes a datagram into a buffer of `capacity_bytes` (`SO_RCVBUF` as the kernel reports it),
    /// or refuses it.
    pub fn admit(&mut self, capacity_bytes: u64, udp_payload_bytes: u32) -> bool {
        let charge = truesize_bytes(udp_payload_bytes);
        let fits = self.used_bytes + charge <= capacity_bytes;
        if fits {
            self.used_bytes += charge;
        }
        fits
    }

    /// The application has read a datagram of this size.
    pub fn release(&mut self, udp_payload_bytes: u32) {
        self.used_bytes -= truesize_bytes(udp_payload_bytes);
    }

    /// The socket is gone, and what it held with it.
    pub fn clear(&mut self) {
        self.used_bytes = 0;
    }
}

/// What the kernel charges for a datagram: the memory of its buffer, not its bytes.
///
/// Measured on Linux 6.18 over loopback with no reader, every payload from 1 to
/// 1472 B: a buffer of 212 992 B holds 256 datagrams of at most 197 B, 166 of
/// 198 to 645 B and 92 of more; one of 851 968 B holds 665 of 640 B and 369
/// of 1200 B. Beyond one fragment each fragment is charged as a buffer of its
/// own (inferred, not measured).
pub fn truesize_bytes(udp_payload_bytes: u32) -> u64 {
    let full = fragments(udp_payload_bytes) - 1;
    let last = udp_payload_bytes + UDP_HEADER_BYTES - full * FRAGMENT_BYTES_MAX;
    let fits = |payload_bytes: u32| last <= payload_bytes + UDP_HEADER_BYTES;
    let last_buffer = BUCKETS
        .iter()
        .find(|(payload_bytes, _)| fits(*payload_bytes));
    let last_bytes = last_buffer.map_or(LARGE_BUFFER_BYTES, |(_, bytes)| *bytes);
    u64::from(full) * LARGE_BUFFER_BYTES + last_bytes
}

/// How many IP packets a datagram takes over Ethernet or Wi-Fi.
pub fn fragments(udp_payload_bytes: u32) -> u32 {
    (udp_payload_bytes + UDP_HEADER_BYTES).div_ceil(FRAGMENT_BYTES_MAX)
}

/// Bytes of a datagram with the IP and UDP headers of all its fragments.
pub fn wire_bytes(udp_payload_bytes: u32) -> u32 {
    udp_payload_bytes + UDP_HEADER_BYTES + fragments(udp_payload_bytes) * IP_HEADER_BYTES
}

const UDP_HEADER_BYTES: u32 = 8; // RFC 768
const IP_HEADER_BYTES: u32 = 20; // RFC 791, no options
const FRAGMENT_BYTES_MAX: u32 = 1480; // 1500 B MTU less its IP header; the first holds UDP's too
/// The largest payload of each smaller buffer, and its charge: 212 992 / 256, 212 992 / 166.
const BUCKETS: [(u32, u64); 2] = [(197, 832), (645, 1280)];
const LARGE_BUFFER_BYTES: u64 = 2304; // 212 992 / 92 and 851 968 / 369

#[cfg(test)]
mod tests {
    use super::*;

    fn held(capacity_bytes: u64, payload_bytes: u32) -> usize {
        let mut buffer = SocketBuffer::EMPTY;
        let admit = |_: &usize| buffer.admit(capacity_bytes, payload_bytes);
        (0..).take_while(admit).count()
    }

    #[test]
    fn holds_as_many_datagrams_as_the_kernel() {
        for (capacity, payload, count) in [
            (212_992, 64, 256),
            (212_992, 197, 256),
            (212_992, 198, 166),
            (212_992, 645, 166),
            (212_992, 646, 92),
            (212_992, 1431, 92),
            (851_968, 640, 665),
            (851_968, 1200, 369),
        ] {
            assert_eq!(
                held(capacity, payload),
                count,
                "{capacity} B of {payload} B"
            );
        }
    }

    #[test]
    fn releases_what_it_admitted() {
        let mut buffer = SocketBuffer::EMPTY;
        assert!(buffer.admit(2304, 1200));
        assert!(!buffer.admit(2304, 1));
        buffer.release(1200);
        assert!(buffer.admit(2304, 1));
    }

    #[test]
    fn headers_are_counted_per_fragment() {
        assert_eq!(wire_bytes(668), 668 + 28);
        assert_eq!(wire_bytes(1472), 1500);
        assert_eq!(wire_bytes(2952), 2952 + 8 + 40);
        assert_eq!(wire_bytes(2953), 2953 + 8 + 60);
    }
}
