//! A TFTP packet: what is read and written again reads as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_protocols::transport::tftp::TftpPacket;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(packet) = TftpPacket::decode(bytes) {
        assert_eq!(TftpPacket::decode(&packet.encode()), Ok(packet));
    }
});
