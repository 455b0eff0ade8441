//! What a client submits, without its signature: what is read is written back as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::tokens::document::SubmissionFile;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(submission) = SubmissionFile::decode(bytes) {
        assert_eq!(submission.encode(), bytes);
        assert!(!submission.requests.is_empty());
    }
    // Nobody has signed it, unless by chance.
    assert!(SubmissionFile::open(bytes).is_err());
});
