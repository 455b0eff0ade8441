//! EVA's messages and the packet around them: what is read and written again reads as the same.
//!
//! The first byte is the message id, the second chooses the variant; the packet is the whole input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_protocols::transport::eva::codec::EvaBody;
use pocketsim_protocols::transport::eva::packet::SignedPacket;
use pocketsim_protocols::transport::eva::Variant;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(packet) = SignedPacket::decode(bytes) {
        for variant in [Variant::Original, Variant::Modified] {
            let _ = EvaBody::decode(packet.message_id, &packet.body, variant);
        }
    }
    let [message_id, variant, message @ ..] = bytes else {
        return;
    };
    let variant = [Variant::Original, Variant::Modified][usize::from(variant & 1)];
    let Ok(body) = EvaBody::decode(*message_id, message, variant) else {
        return;
    };
    let again = body.encode(variant);
    match (variant, &body) {
        (Variant::Modified, _) => assert_eq!(again, message),
        // It is sent without its list.
        (
            Variant::Original,
            EvaBody::Acknowledgement {
                acked_windows: 0, ..
            },
        ) => {}
        // Lists may have other blanks.
        (Variant::Original, _) => {
            assert_eq!(EvaBody::decode(*message_id, &again, variant), Ok(body));
        }
    }
});
