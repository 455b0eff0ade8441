//! Writes a seed corpus made of valid messages: `seeds FOLDER` fills `FOLDER/<target>/`.
//!
//! Valid messages are where a fuzzer gets furthest from; they are made, not stored, so they follow
//! the formats. The framing of messages in one input is that of the targets' own files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pocketsim_probe_core::peer::codec::{Counts, Kind, Message};
use pocketsim_probe_core::trade::control::{Control, Hello, Summary};
use pocketsim_probe_core::trade::envelope::seal;
use pocketsim_probe_core::trade::node::Node;
use pocketsim_probe_core::trade::store::Store;
use pocketsim_probe_core::trade::Carrier;
use pocketsim_protocols::block::{Block, Text};
use pocketsim_protocols::contract::{AppRequest, Machine, NodeId, Output, OutputsOf, Reason};
use pocketsim_protocols::crypto::{directory, Counted, Crypto, Real};
use pocketsim_protocols::half_block::{
    HalfBlock, PrivateKey, Value, EMPTY_KEY, EMPTY_SIGNATURE, GENESIS_HASH, UNKNOWN_SEQUENCE,
};
use pocketsim_protocols::transport::tftp::{TftpPacket, TransferMode};
use pocketsim_protocols::trustchain::{Agent, AgentConfig};

mod eva;
mod tokens;

fn main() {
    let folder = std::env::args().nth(1).expect("usage: seeds FOLDER");
    let corpora = [
        ("block", blocks()),
        ("agent", conversations()),
        ("eva_message", eva::messages(&private_key())),
        ("half_block", half_blocks()),
        ("peer_message", peer_messages()),
        ("transaction", transactions()),
        ("tftp_packet", tftp_packets()),
        ("tftp_machine", tftp_histories()),
        ("tftp_wire", tftp_conversations()),
        ("token", tokens::alone()),
        ("token_answer", tokens::answers()),
        ("token_submission", tokens::submissions()),
        ("token_wallet", tokens::wallets()),
        ("trade_control", controls()),
        ("trade_dialler", answered()),
        ("trade_link", links()),
        ("trade_listener", listened()),
    ];
    for (target, inputs) in corpora {
        write(&Path::new(&folder).join(target), &inputs);
    }
}

fn write(folder: &Path, inputs: &[Vec<u8>]) {
    fs::create_dir_all(folder).expect("a folder that can be written");
    for (number, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("seed_{number:02}")), input).expect("room for a seed");
    }
}

fn proposal<C: Crypto>(payload_bytes: u32) -> Block {
    let keys = directory::<C>(1, 2);
    let crypto = C::new(1, NodeId(0));
    let mut block = Block {
        proposer: NodeId(0),
        payload: Text::new(7, payload_bytes),
        sender_pubkey: keys[0],
        receiver_pubkey: keys[1],
        sender_sig: None,
        receiver_sig: None,
        prev_hash_sender: None,
        prev_hash_receiver: None,
        index: 1,
    };
    block.sign_as_sender(&crypto);
    block
}

fn agreement<C: Crypto>(payload_bytes: u32) -> Block {
    let mut block = proposal::<C>(payload_bytes);
    block.prev_hash_sender = Some(block.digest::<C>());
    block.prev_hash_receiver = Some(block.digest::<C>());
    block.sign_as_sender(&C::new(1, NodeId(0)));
    block.sign_as_receiver(&C::new(1, NodeId(1)));
    block
}

fn blocks() -> Vec<Vec<u8>> {
    let blocks = [
        proposal::<Real>(10),
        proposal::<Real>(100),
        agreement::<Real>(100),
    ];
    blocks.map(|block| block.to_json().into_bytes()).to_vec()
}

/// What node 1 may hear: proposals of node 0, also again, and the answer to its own.
fn conversations() -> Vec<Vec<u8>> {
    let keys = directory::<Counted>(1, 2);
    let agent = |node| {
        let crypto = Counted::new(1, NodeId(node));
        Agent::new(crypto, NodeId(node), keys.clone(), AgentConfig::default())
    };
    let (mut here, mut peer) = (agent(1), agent(0));
    let own = sent(&mut here, |agent, out| transact(agent, NodeId(0), out));
    let answer = sent(&mut peer, |agent, out| {
        agent.receive_bytes(NodeId(1), own[0].to_json().as_bytes(), 0.0, out);
    });
    let offers = sent(&mut peer, |agent, out| {
        transact(agent, NodeId(1), out);
        transact(agent, NodeId(1), out);
    });
    let bytes = |blocks: &[&Block]| {
        let texts: Vec<String> = blocks.iter().map(|block| block.to_json()).collect();
        texts
            .iter()
            .map(|text| text.as_bytes())
            .collect::<Vec<_>>()
            .join(&SEPARATOR[..])
    };
    vec![
        bytes(&[&answer[0], &offers[0], &offers[1]]),
        bytes(&[&offers[1], &offers[0], &offers[0]]),
        bytes(&[&own[0], &answer[0], &answer[0]]),
    ]
}

fn transact(agent: &mut Agent<Counted>, peer: NodeId, out: &mut OutputsOf<Agent<Counted>>) {
    let payload_bytes = 20;
    agent.command(
        AppRequest::Transact {
            peer,
            payload_bytes,
        },
        0.0,
        out,
    );
}

fn sent(
    agent: &mut Agent<Counted>,
    act: impl FnOnce(&mut Agent<Counted>, &mut OutputsOf<Agent<Counted>>),
) -> Vec<Block> {
    let mut out = Vec::new();
    act(agent, &mut out);
    let block = |output| match output {
        Output::Send { message, .. } => Some(message),
        _ => None,
    };
    out.into_iter().filter_map(block).collect()
}

fn private_key() -> PrivateKey {
    let key = [&b"LibNaCLSK:"[..], &[7; 64]].concat();
    PrivateKey::from_bytes(&key).expect("a key")
}

fn half_blocks() -> Vec<Vec<u8>> {
    let key = private_key();
    let half = |transaction: Vec<u8>| {
        let mut block = HalfBlock {
            public_key: key.public_key(),
            sequence_number: 1,
            link_public_key: EMPTY_KEY,
            link_sequence_number: UNKNOWN_SEQUENCE,
            previous_hash: GENESIS_HASH,
            signature: EMPTY_SIGNATURE,
            block_type: "test".into(),
            transaction,
            timestamp_ms: 1,
        };
        block.sign(&key);
        block.encode()
    };
    transactions().into_iter().map(half).collect()
}

fn transactions() -> Vec<Vec<u8>> {
    let text = |text: &str| Value::Text(text.into());
    let values = [
        Value::None,
        Value::Dict(vec![
            (text("id"), Value::Int(42)),
            (text("paid"), Value::Bool(true)),
        ]),
        Value::List(vec![
            Value::Long(-1),
            Value::Float(1.5e9),
            Value::Bytes(vec![0, 255]),
        ]),
        Value::Tuple(vec![Value::Set(vec![text("ü")]), Value::Int(i128::MIN)]),
    ];
    values.iter().map(Value::encode).collect()
}

fn packets() -> Vec<TftpPacket> {
    let (filename, mode) = ("00000001000000ff".to_owned(), TransferMode::Octet);
    vec![
        TftpPacket::Write { filename, mode },
        TftpPacket::Data {
            block: 1,
            data: vec![7; 512],
        },
        TftpPacket::Data {
            block: 2,
            data: vec![7; 88],
        },
        TftpPacket::Ack { block: 0 },
        TftpPacket::Ack { block: 1 },
        TftpPacket::Error {
            code: 5,
            message: "unknown transfer".into(),
        },
        TftpPacket::Read {
            filename: "file".into(),
            mode: TransferMode::Netascii,
        },
    ]
}

/// The same at either end, which the first byte chooses.
fn tftp_conversations() -> Vec<Vec<u8>> {
    let at = |end: u8| move |history: Vec<u8>| [&[end], &history[..]].concat();
    let both = [0, 255].map(|end| tftp_histories().into_iter().map(at(end)));
    both.into_iter().flatten().collect()
}

fn tftp_packets() -> Vec<Vec<u8>> {
    let option = b"\0\x02name\0octet\0blksize\x001428\0".to_vec();
    let packets = packets();
    packets
        .iter()
        .map(TftpPacket::encode)
        .chain([option])
        .collect()
}

/// Each packet behind one byte for its transfer and two for its length.
fn tftp_histories() -> Vec<Vec<u8>> {
    let step = |transfer: u8, packet: &TftpPacket| {
        let bytes = packet.encode();
        let length = (bytes.len() as u16).to_be_bytes();
        [&[transfer], &length[..], &bytes].concat()
    };
    let packets = packets();
    let history = |transfer: u8, order: &[usize]| {
        let steps = order.iter().map(|&at| step(transfer, &packets[at]));
        steps.collect::<Vec<_>>().concat()
    };
    vec![
        history(7, &[0, 1, 2]),
        history(0, &[3, 4, 4]),
        history(0, &[3, 5, 0, 1, 1, 2]),
        history(7, &[0, 0, 1, 6, 2]),
    ]
}

fn peer_messages() -> Vec<Vec<u8>> {
    let message = |&kind| {
        let counts = Counts {
            datagrams: 1,
            bytes: 2,
            late: 3,
            span_ns: 4,
        };
        let message = Message {
            kind,
            session: 5,
            sequence: 6,
            time_ns: 7,
            counts,
        };
        message.encode(60)
    };
    Kind::ALL.iter().map(message).collect()
}

fn controls() -> Vec<Vec<u8>> {
    let (session, key, number, repetition) = (1, directory::<Counted>(1, 1)[0], 1, 2);
    let refused = vec![(Reason::Malformed, 3), (Reason::Fork, 1)];
    let tally = Summary {
        stored: 4,
        digest: [5; 32],
        refused,
        malformed: 6,
    };
    let messages = [
        Control::Hello(Hello {
            session,
            key,
            carrier: Carrier::Tftp,
            repetition,
            number,
            round: 0,
            cookie: [4; 16],
        }),
        Control::Cookie {
            session,
            cookie: [4; 16],
        },
        Control::Welcome {
            session,
            key,
            number,
            round: 0,
        },
        Control::Start {
            session,
            repetition,
            first_sequence: 0,
        },
        Control::Ready {
            session,
            repetition,
        },
        Control::Finish {
            session,
            repetition,
        },
        Control::Summary {
            session,
            repetition,
            tally,
        },
        Control::WhoAreYou,
        Control::Full { session },
    ];
    let sealed = messages.iter().map(|message| seal(message, &node(1)));
    messages.iter().map(Control::encode).chain(sealed).collect()
}

fn node(secret: u8) -> Node {
    Node::new([secret; 32], Store::default(), Arc::new(|| 0.0))
}

fn links() -> Vec<Vec<u8>> {
    let links = [
        "pocketsim-probe://trade/192.0.2.1:4747",
        "pocketsim-probe://trade/[2001:db8::1%wlan0]:4747",
        "phone.local",
    ];
    links.map(|link| link.as_bytes().to_vec()).to_vec()
}

/// A listener's answers and agreements to the dialler with the secret key of the target.
fn answered() -> Vec<Vec<u8>> {
    let (listener, dialler) = (node(1), node(2));
    let peer = dialler.introduce(listener.key(), 0).expect("room for one");
    listener.introduce(dialler.key(), 1).expect("room for one");
    let proposals: Vec<_> = (0..2).flat_map(|_| dialler.propose(peer, 10)).collect();
    let agreements = proposals.iter().flat_map(|proposal| {
        let letters = listener.receive(&proposal.bytes);
        letters
            .expect("of the dialler")
            .into_iter()
            .map(|letter| letter.bytes)
    });
    let (session, repetition) = (1, 0);
    let welcome = Control::Welcome {
        session,
        key: listener.key(),
        number: 1,
        round: 0,
    };
    let ready = Control::Ready {
        session,
        repetition,
    };
    let controls = [welcome, ready, Control::WhoAreYou];
    let all = controls.iter().map(Control::encode).chain(agreements);
    vec![all
        .map(|datagram| framed(&datagram))
        .collect::<Vec<_>>()
        .concat()]
}

fn framed(datagram: &[u8]) -> Vec<u8> {
    let length = (datagram.len() as u16).to_be_bytes();
    [&length[..], datagram].concat()
}

/// A dialler's questions and proposals to the listener with the secret key of the target.
fn listened() -> Vec<Vec<u8>> {
    let (listener, dialler) = (node(1), node(2));
    let peer = dialler.introduce(listener.key(), 0).expect("room for one");
    let blocks: Vec<_> = (0..2).flat_map(|_| dialler.propose(peer, 10)).collect();
    let (session, repetition, number) = (1, 0, 0);
    let (key, carrier) = (dialler.key(), Carrier::Udp);
    let hello = Control::Hello(Hello {
        session,
        key,
        carrier,
        repetition,
        number,
        round: 0,
        cookie: [0; 16],
    });
    let datagrams = [
        hello.encode(),
        Control::Start {
            session,
            repetition,
            first_sequence: 0,
        }
        .encode(),
        blocks[0].bytes.clone(),
        blocks[1].bytes.clone(),
        Control::Finish {
            session,
            repetition,
        }
        .encode(),
    ];
    let framed = datagrams.iter().map(|datagram| framed(datagram));
    vec![framed.collect::<Vec<_>>().concat()]
}

/// Between the messages of one input of the agent; never part of UTF-8.
const SEPARATOR: [u8; 1] = [0xff];
