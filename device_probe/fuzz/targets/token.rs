//! Tokens, alone and in a batch: bytes that are read are written back as they were.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_protocols::token::{decode_batch, encode_batch, Token};

fuzz_target!(|bytes: &[u8]| {
    let alone = Token::decode(bytes);
    if let Ok(token) = &alone {
        assert_eq!(token.encode(), bytes);
        assert_eq!(token.wire_bytes(), bytes.len());
        assert!(!token.recipients().is_empty());
    }
    match decode_batch(bytes) {
        Ok(tokens) => {
            assert_eq!(encode_batch(&tokens), bytes);
            assert_eq!(alone.is_ok(), tokens.len() == 1);
        }
        Err(_) => assert!(alone.is_err(), "a token is a batch of one"),
    }
});
