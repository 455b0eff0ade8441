//! The transaction encoding "a" of Kotlin-IPv8 and of py-ipv8 before it.
//!
//! An `a`, then one value: a decimal count, a letter for the type, the body
//! (TransactionEncoding.kt:18-37). The count is of bytes for scalars, of elements
//! for collections, of pairs for dictionaries, and 0 for what has no body.

use super::Malformed;

/// What a transaction may hold. Dictionaries and sets keep their order, which
/// the bytes show.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `n`
    None,
    /// `T` or `F`
    Bool(bool),
    /// `i`; arbitrary precision in the original, 128 bits here.
    Int(i128),
    /// `J`
    Long(i64),
    /// `f`
    Float(f32),
    /// `s`
    Text(String),
    /// `b`; the original reads it but never writes it.
    Bytes(Vec<u8>),
    /// `l`
    List(Vec<Value>),
    /// `L`
    Set(Vec<Value>),
    /// `t`; the original reads it but never writes it.
    Tuple(Vec<Value>),
    /// `d`
    Dict(Vec<(Value, Value)>),
}

impl Value {
    /// The bytes of a transaction.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        self.put(&mut bytes);
        bytes
    }

    /// A transaction from its bytes, with nothing behind them.
    ///
    /// # Errors
    /// Another version, unknown types, bodies that do not parse, integers beyond
    /// 128 bits, nesting deeper than 64.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        match bytes.split_first() {
            Some((&VERSION, rest)) => {
                let mut rest = rest;
                let value = take_value(&mut rest, DEPTH_MAX)?;
                if rest.is_empty() {
                    Ok(value)
                } else {
                    Err(Malformed("a transaction is one value"))
                }
            }
            _ => Err(Malformed("a transaction starts with the letter a")),
        }
    }

    fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Value::None => bytes.extend(b"0n"),
            Value::Bool(true) => bytes.extend(b"0T"),
            Value::Bool(false) => bytes.extend(b"0F"),
            Value::Int(number) => put_scalar(bytes, 'i', number.to_string().as_bytes()),
            Value::Long(number) => put_scalar(bytes, 'J', number.to_string().as_bytes()),
            Value::Float(number) => put_scalar(bytes, 'f', java_text(*number).as_bytes()),
            Value::Text(text) => put_scalar(bytes, 's', text.as_bytes()),
            Value::Bytes(body) => put_scalar(bytes, 'b', body),
            Value::List(items) => put_items(bytes, 'l', items),
            Value::Set(items) => put_items(bytes, 'L', items),
            Value::Tuple(items) => put_items(bytes, 't', items),
            Value::Dict(pairs) => {
                bytes.extend(format!("{}d", pairs.len()).bytes());
                for (key, value) in pairs {
                    key.put(bytes);
                    value.put(bytes);
                }
            }
        }
    }
}

fn put_scalar(bytes: &mut Vec<u8>, letter: char, body: &[u8]) {
    bytes.extend(format!("{}{letter}", body.len()).bytes());
    bytes.extend(body);
}

fn put_items(bytes: &mut Vec<u8>, letter: char, items: &[Value]) {
    bytes.extend(format!("{}{letter}", items.len()).bytes());
    for item in items {
        item.put(bytes);
    }
}

/// As `Float.toString` of the JVM: a decimal point always, an E outside 1e-3..1e7.
fn java_text(number: f32) -> String {
    let size = number.abs();
    if !number.is_finite() {
        return format!("{number}").replace("inf", "Infinity");
    }
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{number:?}");
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => text,
    }
}

fn take_value(rest: &mut &[u8], depth: usize) -> Result<Value, Malformed> {
    let depth = depth.checked_sub(1).ok_or(Malformed("nested too deeply"))?;
    let count = take_count(rest)?;
    let letter = take(rest, 1)?[0];
    Ok(match letter {
        b'n' => Value::None,
        b'T' => Value::Bool(true),
        b'F' => Value::Bool(false),
        b'i' => Value::Int(number(take(rest, count)?)?),
        b'J' => Value::Long(number(take(rest, count)?)?),
        b'f' => Value::Float(number(take(rest, count)?)?),
        b's' => Value::Text(text(take(rest, count)?)?.to_owned()),
        b'b' => Value::Bytes(take(rest, count)?.to_vec()),
        b'l' => Value::List(take_items(rest, count, depth)?),
        b'L' => Value::Set(take_items(rest, count, depth)?),
        b't' => Value::Tuple(take_items(rest, count, depth)?),
        b'd' => Value::Dict(take_pairs(rest, count, depth)?),
        _ => return Err(Malformed("unknown type of value")),
    })
}

fn take_count(rest: &mut &[u8]) -> Result<usize, Malformed> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    number(take(rest, digits)?)
}

// Nothing is reserved for a count: it is only what the peer claims.
fn take_items(rest: &mut &[u8], count: usize, depth: usize) -> Result<Vec<Value>, Malformed> {
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(take_value(rest, depth)?);
    }
    Ok(items)
}

fn take_pairs(
    rest: &mut &[u8],
    count: usize,
    depth: usize,
) -> Result<Vec<(Value, Value)>, Malformed> {
    let mut pairs = Vec::new();
    for _ in 0..count {
        pairs.push((take_value(rest, depth)?, take_value(rest, depth)?));
    }
    Ok(pairs)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], Malformed> {
    let (taken, after) = rest
        .split_at_checked(count)
        .ok_or(Malformed("ends too early"))?;
    *rest = after;
    Ok(taken)
}

fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed("a text is UTF-8"))
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Result<T, Malformed> {
    text(bytes)?
        .parse()
        .map_err(|_| Malformed("not a number, or too large"))
}

const VERSION: u8 = b'a';
/// Deeper than any transaction; a peer must not choose the depth of our stack.
const DEPTH_MAX: usize = 64;
