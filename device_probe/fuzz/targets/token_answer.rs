//! What an authority answers, without its signature: what is read is written back as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::tokens::document::AnswerFile;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(answer) = AnswerFile::decode(bytes) {
        assert_eq!(answer.encode(), bytes);
        assert!(!answer.verdicts.is_empty());
    }
    // Nobody has signed it, unless by chance.
    assert!(AnswerFile::open(bytes).is_err());
});
