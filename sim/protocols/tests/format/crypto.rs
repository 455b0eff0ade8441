//! Both providers keep one contract.

use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::crypto::{directory, Canonical, Counted, Crypto, Key, Mixer, Real};
use proptest::prelude::*;

#[derive(Clone, Copy)]
struct Words([u64; 3]);

impl Canonical for Words {
    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn mix(&self, mixer: &mut Mixer) {
        self.0.iter().for_each(|&word| mixer.word(word));
    }
}

fn holds<C: Crypto>(words: [u64; 3], seed: u64) {
    let (alice, bob) = (C::new(seed, NodeId(0)), C::new(seed, NodeId(1)));
    let message = Words(words);
    let signature = alice.sign(&message);
    let key = alice.public_key();
    assert!(C::verify(&key, &message, &signature));
    assert!(!C::verify(&bob.public_key(), &message, &signature));
    assert_eq!(signature, C::new(seed, NodeId(0)).sign(&message));
    for word in 0..3 {
        let mut other = message;
        other.0[word] ^= 1 << (seed % 64);
        assert!(!C::verify(&key, &other, &signature));
        assert_ne!(C::digest(&other), C::digest(&message));
        assert_ne!(alice.sign(&other).fingerprint(), signature.fingerprint());
    }
    for at in 0..64 {
        let mut forged = signature;
        forged.0[at] ^= 1;
        assert!(!C::verify(&key, &message, &forged));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn real_exposes_forgery(words: [u64; 3], seed: u64) {
        holds::<Real>(words, seed);
    }

    #[test]
    fn counted_exposes_forgery(words: [u64; 3], seed: u64) {
        holds::<Counted>(words, seed);
    }
}

#[test]
fn counted_tags_of_many_messages_differ() {
    let crypto = Counted::new(1, NodeId(0));
    let mut tags: Vec<u64> = (0..200_000)
        .map(|number| crypto.sign(&Words([number, number >> 3, 0])).fingerprint())
        .collect();
    tags.sort_unstable();
    tags.dedup();
    assert_eq!(tags.len(), 200_000);
}

fn keys_differ<C: Crypto>() {
    let keys = directory::<C>(3, 20);
    assert_eq!(keys.len(), 20);
    assert_eq!(keys[7], C::new(3, NodeId(7)).public_key());
    let mut sorted: Vec<Key> = keys.to_vec();
    sorted.extend(directory::<C>(4, 20).iter());
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), 40);
}

#[test]
fn each_node_and_seed_has_its_key() {
    keys_differ::<Real>();
    keys_differ::<Counted>();
}

#[test]
fn real_refuses_a_key_that_is_no_point() {
    let message = Words([1, 2, 3]);
    let signature = Real::new(1, NodeId(0)).sign(&message);
    let mut broken = [0xff; 32];
    broken[0] = 0x02;
    assert!(!Real::verify(&Key(broken), &message, &signature));
    assert!(!Real::verify(&Key([0; 32]), &message, &signature));
}

#[test]
fn a_secret_has_the_public_key_of_rfc_8032() {
    // Section 7.1, test 1.
    let secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let mut bytes = [0; 32];
    hex::decode_to_slice(secret, &mut bytes).expect("32 bytes in hexadecimal");
    assert_eq!(hex::encode(Real::from_secret(bytes).public_key().0), public);
}
