//! Conformance with Kotlin-IPv8, by its own test vectors.

use pocketsim_protocols::half_block::*;
use proptest::prelude::*;

fn vector(name: &str) -> Vec<u8> {
    let document: serde_json::Value =
        serde_json::from_str(include_str!("../vectors/kotlin_halfblock.json")).expect("JSON");
    hex::decode(document[name].as_str().expect(name)).expect("hexadecimal")
}

fn key() -> PrivateKey {
    PrivateKey::from_bytes(&vector("private_key_bin_hex")).expect("a key")
}

fn id_42() -> Value {
    Value::Dict(vec![(Value::Text("id".into()), Value::Int(42))])
}

fn unsigned() -> HalfBlock {
    HalfBlock {
        public_key: key().public_key(),
        sequence_number: 1,
        link_public_key: EMPTY_KEY,
        link_sequence_number: UNKNOWN_SEQUENCE,
        previous_hash: GENESIS_HASH,
        signature: EMPTY_SIGNATURE,
        block_type: "test".into(),
        transaction: id_42().encode(),
        timestamp_ms: 0,
    }
}

#[test]
fn the_vector_reproduces_byte_for_byte() {
    let mut block = unsigned();
    assert_eq!(
        block.encode(),
        vector("serialized_with_empty_signature_hex")
    );
    assert_eq!((block.wire_bytes(), block.encode().len()), (283, 283));
    assert!(!block.signature_holds());
    block.sign(&key());
    assert_eq!(block.signature.to_vec(), vector("signature_hex"));
    assert_eq!(block.hash().to_vec(), vector("sha256_of_signed_block_hex"));
    assert!(block.signature_holds());
}

#[test]
fn the_vector_reads_back() {
    let block = HalfBlock::decode(&vector("serialized_with_empty_signature_hex"));
    assert_eq!(block, Ok(unsigned()));
    assert_eq!(Value::decode(&unsigned().transaction), Ok(id_42()));
}

#[test]
fn a_signature_covers_every_field_but_itself() {
    let mut block = unsigned();
    block.sign(&key());
    let alter: [fn(&mut HalfBlock); 8] = [
        |block| block.sequence_number = 2,
        |block| block.link_public_key.0[3] = b'1',
        |block| block.link_sequence_number = 9,
        |block| block.previous_hash[0] = 0,
        |block| block.block_type = "tesu".into(),
        |block| block.transaction[1] ^= 1,
        |block| block.timestamp_ms = 1,
        |block| block.public_key.0[0] = b'l',
    ];
    for change in alter {
        let mut other = block.clone();
        change(&mut other);
        assert!(!other.signature_holds());
        assert_ne!(other.hash(), block.hash());
    }
}

#[test]
fn broken_bytes_are_refused() {
    let bytes = unsigned().encode();
    for end in 0..bytes.len() {
        assert!(HalfBlock::decode(&bytes[..end]).is_err(), "{end}");
    }
    let longer = [&bytes[..], b"x"].concat();
    let error = HalfBlock::decode(&longer).expect_err("overlong");
    assert_eq!(error.to_string(), "goes on behind its end");
    let mut foreign = bytes.clone();
    foreign[256] = 0xc3;
    foreign[257] = 0xa9;
    assert!(
        HalfBlock::decode(&foreign).is_err(),
        "a type that is not ASCII"
    );
    let mut greedy = bytes;
    greedy[252] = 0xff;
    assert!(
        HalfBlock::decode(&greedy).is_err(),
        "a length beyond the end"
    );
}

#[test]
fn a_private_key_has_one_form() {
    let bytes = vector("private_key_bin_hex");
    assert!(PrivateKey::from_bytes(&bytes[..73]).is_err());
    assert!(PrivateKey::from_bytes(&[&bytes[..], b"x"].concat()).is_err());
    let public = [b"LibNaCLPK:", &bytes[10..]].concat();
    assert!(PrivateKey::from_bytes(&public).is_err());
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn transactions_are_spelled_as_in_the_original() {
    let names = [("foo", "bar"), ("moo", "milk")];
    let dict = names.map(|(key, value)| (text(key), text(value))).to_vec();
    let list = ["1", "2", "3"].map(text).to_vec();
    let cases = [
        (Value::Int(42), "a2i42"),
        (Value::Int(-7), "a2i-7"),
        (Value::Long(42), "a2J42"),
        (Value::Float(4.2), "a3f4.2"),
        (Value::Float(4.0), "a3f4.0"),
        (Value::Float(1e10), "a6f1.0E10"),
        (Value::Float(1.5e-7), "a6f1.5E-7"),
        (Value::Float(f32::INFINITY), "a8fInfinity"),
        (text("ipv8"), "a4sipv8"),
        (text("\u{1f984}"), "a4s\u{1f984}"),
        (Value::Dict(dict), "a2d3sfoo3sbar3smoo4smilk"),
        (Value::List(list.clone()), "a3l1s11s21s3"),
        (Value::Set(list.clone()), "a3L1s11s21s3"),
        (Value::Tuple(list), "a3t1s11s21s3"),
        (Value::Bytes(b"ab".to_vec()), "a2bab"),
        (Value::None, "a0n"),
        (Value::Bool(true), "a0T"),
        (Value::Bool(false), "a0F"),
        (
            Value::Dict(vec![(text("message"), text("hi"))]),
            "a1d7smessage2shi",
        ),
    ];
    for (value, spelling) in cases {
        assert_eq!(String::from_utf8(value.encode()).as_deref(), Ok(spelling));
        assert_eq!(Value::decode(spelling.as_bytes()), Ok(value));
    }
}

#[test]
fn a_bandwidth_transaction_of_tribler_reads() {
    let bytes =
        b"a4d4bdown1i010btotal_down13i16109262778672bup7i50328238btotal_up14i12392744309837";
    let Ok(Value::Dict(pairs)) = Value::decode(bytes) else {
        panic!("a dictionary")
    };
    assert_eq!(pairs[1].0, Value::Bytes(b"total_down".to_vec()));
    assert_eq!(pairs[1].1, Value::Int(1_610_926_277_867));
    assert_eq!(pairs[3].1, Value::Int(12_392_744_309_837));
}

#[test]
fn what_is_no_transaction_is_refused() {
    let deep = format!("a{}0n", "1l".repeat(100));
    let huge = format!("a40i{}", "9".repeat(40));
    let cases = [
        "",
        "b0n",
        "a",
        "an",
        "a0",
        "a0q",
        "a2i4",
        "a2ixy",
        "a2J 4",
        "a1l",
        "a2d0n0n0n",
        "a0n0n",
        "a99999999999999999999s",
        "a9999999999l0n",
        &deep,
        &huge,
    ];
    for text in cases {
        assert!(Value::decode(text.as_bytes()).is_err(), "{text}");
    }
    assert!(Value::decode(b"a1s\xff").is_err());
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        any::<i128>().prop_map(Value::Int),
        any::<i64>().prop_map(Value::Long),
        any::<f32>()
            .prop_filter("a NaN differs from itself", |number| !number.is_nan())
            .prop_map(Value::Float),
        ".{0,12}".prop_map(Value::Text),
        any::<Vec<u8>>().prop_map(Value::Bytes),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Set),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Tuple),
            prop::collection::vec((inner.clone(), inner), 0..4).prop_map(Value::Dict),
        ]
    })
}

proptest! {
    #[test]
    fn transactions_read_back(value in any_value()) {
        prop_assert_eq!(Value::decode(&value.encode()), Ok(value));
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = Value::decode(&[b"a", &bytes[..]].concat());
        let _ = HalfBlock::decode(&bytes);
        let _ = PrivateKey::from_bytes(&bytes);
    }

    #[test]
    fn half_blocks_read_back(
        numbers: (u32, u32, u64),
        block_type in "[a-z_]{0,20}",
        transaction: Vec<u8>,
    ) {
        let block = HalfBlock {
            sequence_number: numbers.0,
            link_sequence_number: numbers.1,
            timestamp_ms: numbers.2,
            block_type,
            transaction,
            ..unsigned()
        };
        prop_assert_eq!(block.encode().len(), block.wire_bytes());
        prop_assert_eq!(HalfBlock::decode(&block.encode()), Ok(block));
    }
}
