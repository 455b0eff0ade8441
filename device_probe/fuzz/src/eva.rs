//! EVA's messages, for the target that reads them.

use pocketsim_protocols::half_block::PrivateKey;
use pocketsim_protocols::transport::eva::codec::{EvaBody, Offer};
use pocketsim_protocols::transport::eva::packet::SignedPacket;
use pocketsim_protocols::transport::eva::Variant;

/// Each message in both variants, framed as the target says, and as a packet.
pub fn messages(key: &PrivateKey) -> Vec<Vec<u8>> {
    let offer = Offer {
        info: "tokens".into(),
        id: "1".into(),
        nonce: 7,
        size_bytes: 950,
        blocks: 10,
        block_bytes: 100,
        window_blocks: 4,
    };
    let messages = [
        EvaBody::WriteRequest(offer),
        EvaBody::Acknowledgement {
            nonce: 7,
            acked_windows: 2,
            lost: vec![1, 5],
        },
        EvaBody::Data {
            block: 3,
            nonce: 7,
            data: vec![0x5a; 100],
        },
        EvaBody::Error {
            info: "tokens".into(),
            message: "busy".into(),
        },
    ];
    let forms = messages.iter().flat_map(|body| {
        let framed = [(0, Variant::Original), (1, Variant::Modified)]
            .map(|(flag, variant)| [vec![body.message_id(), flag], body.encode(variant)].concat());
        framed.into_iter().chain([packet(body, key)])
    });
    forms.collect()
}

fn packet(body: &EvaBody, key: &PrivateKey) -> Vec<u8> {
    let packet = SignedPacket {
        service_id: [7; 20],
        message_id: body.message_id(),
        public_key: key.public_key(),
        global_time: 9,
        body: body.encode(Variant::Modified),
    };
    packet.encode(key)
}
