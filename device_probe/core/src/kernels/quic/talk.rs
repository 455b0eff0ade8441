//! Data over a connection in memory: one long stream for packets, short streams by the batch.

use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::{Dir, StreamId};

use super::credentials;
use super::memory::{End, Pair};

/// A client that writes one stream and a server that reads it, a batch of datagrams at a time.
pub(super) struct Talk {
    pair: Pair,
    stream: StreamId,
    chunk: Vec<u8>,
    sealed: [Vec<u8>; BATCH],
    arriving: Vec<BytesMut>,
}

impl Talk {
    /// In chunks of `bytes`, each to fit one datagram.
    pub fn new(bytes: usize) -> Self {
        let mut pair = connected();
        let stream = open(&mut pair.client);
        Self {
            pair,
            stream,
            chunk: vec![0x5a; bytes],
            sealed: std::array::from_fn(|_| Vec::with_capacity(BUFFER_BYTES)),
            arriving: Vec::new(),
        }
    }

    /// The client writes and seals [`BATCH`] datagrams.
    pub fn seal_batch(&mut self) {
        let (client, now) = (&mut self.pair.client, self.pair.now);
        for datagram in &mut self.sealed {
            let mut stream = client.connection().send_stream(self.stream);
            let written = stream.write(&self.chunk).expect("an open stream");
            assert_eq!(written, self.chunk.len(), "the windows are empty");
            assert!(
                client.transmit(now, datagram),
                "a batch fits the initial window"
            );
        }
    }

    /// The datagrams arrive in buffers of their own, as from a socket.
    pub fn arrive(&mut self) {
        let arrived = self.sealed.iter();
        self.arriving
            .extend(arrived.map(|datagram| BytesMut::from(&datagram[..])));
    }

    /// The server opens them.
    pub fn open_batch(&mut self) {
        for datagram in self.arriving.drain(..) {
            self.pair.server.handle(datagram, self.pair.now);
        }
    }

    /// The server reads what came, and both exchange acknowledgements.
    ///
    /// Returns what it read, in bytes.
    pub fn rest(&mut self) -> usize {
        let read = read(&mut self.pair.server, self.stream);
        self.pair.exchange();
        read
    }

    /// Mean size of the datagrams that were sealed last.
    pub fn datagram_bytes(&self) -> f64 {
        let total: usize = self.sealed.iter().map(Vec::len).sum();
        total as f64 / BATCH as f64
    }
}

/// A client that opens short streams, a batch at a time, and a server that serves them.
pub(super) struct Streams {
    pair: Pair,
    batch: usize,
    message: Vec<u8>,
    opened: Vec<StreamId>,
}

impl Streams {
    /// On a connection that is ready: `batch` streams at a time, each with a message of `bytes`.
    pub fn new(batch: usize, bytes: usize) -> Self {
        Self {
            pair: connected(),
            batch,
            message: vec![0x5a; bytes],
            opened: Vec::with_capacity(batch),
        }
    }

    /// The client opens a batch of streams.
    pub fn open_batch(&mut self) {
        self.opened.clear();
        let client = &mut self.pair.client;
        self.opened.extend((0..self.batch).map(|_| open(client)));
    }

    /// The client sends one message on each and finishes it.
    pub fn send(&mut self) {
        for &id in &self.opened {
            let mut stream = self.pair.client.connection().send_stream(id);
            stream.write(&self.message).expect("an open stream");
            stream.finish().expect("an open stream");
        }
        self.pair.exchange();
    }

    /// The server accepts them and reads each to its end.
    pub fn serve(&mut self) {
        let server = &mut self.pair.server;
        for _ in 0..self.batch {
            let id = server.connection().streams().accept(Dir::Bi);
            let bytes = read(server, id.expect("it arrived"));
            assert_eq!(bytes, self.message.len(), "it arrived whole");
        }
    }

    /// The server finishes its side, which gives the client credit for as many more.
    pub fn finish(&mut self) {
        for &id in &self.opened {
            let mut stream = self.pair.server.connection().send_stream(id);
            stream.finish().expect("an open stream");
        }
        self.pair.exchange();
        for &id in &self.opened {
            read(&mut self.pair.client, id);
        }
        self.pair.exchange();
    }
}

fn connected() -> Pair {
    let server_config = Arc::new(credentials::server_config());
    Pair::connected(server_config, credentials::client_config())
}

fn open(client: &mut End) -> StreamId {
    let stream = client.connection().streams().open(Dir::Bi);
    stream.expect("the peer gives credit for 100 at first")
}

/// Reads what is there of a stream; how many bytes.
fn read(end: &mut End, id: StreamId) -> usize {
    let mut stream = end.connection().recv_stream(id);
    let mut chunks = stream.read(true).expect("a stream that nobody reset");
    let mut bytes = 0;
    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
        bytes += chunk.bytes.len();
    }
    // A new window for the peer, if one is due, goes out with the next exchange.
    let _ = chunks.finalize();
    bytes
}

/// Full datagrams of one sample: eight of them fit the initial window of ten.
pub(super) const BATCH: usize = 8;

/// More than the datagrams of a path that nobody probed (1200 bytes).
const BUFFER_BYTES: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_one_datagram_and_arrives() {
        for bytes in [1, 128, 1100] {
            let mut talk = Talk::new(bytes);
            for _ in 0..50 {
                talk.seal_batch();
                let overhead = talk.datagram_bytes() - bytes as f64;
                assert!((25.0..60.0).contains(&overhead), "{overhead}");
                talk.arrive();
                talk.open_batch();
                assert_eq!(talk.rest(), BATCH * bytes);
            }
        }
    }

    #[test]
    fn streams_give_their_credit_back() {
        for (batch, bytes) in [(8, 668), (64, 1)] {
            let mut streams = Streams::new(batch, bytes);
            for _ in 0..50 {
                streams.open_batch();
                streams.send();
                streams.serve();
                streams.finish();
            }
            let stats = streams.pair.client.connection().stats();
            assert_eq!(stats.path.lost_packets, 0);
        }
    }
}
