//! Which value bytes are money.
//!
//! The thesis says that certain values are mapped to certain denominations and
//! the others are invalid (IV-A), not which; the prototype only ever writes 1.
//! The table here is ours: the coins and notes of euro cash in ascending order.
//!
//! What deliberately does not live here: choosing tokens for an amount.

/// A value byte that is money: 1 for 1 cent to 15 for 500 EUR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denomination(u8);

impl Denomination {
    /// What a token's value byte stands for; `None` if for nothing.
    pub fn from_byte(value: u8) -> Option<Self> {
        (1..=Self::COUNT as u8)
            .contains(&value)
            .then_some(Self(value))
    }

    /// The denomination of exactly this amount.
    pub fn from_cents(cents: u64) -> Option<Self> {
        let place = CENTS.iter().position(|&each| each == cents)?;
        Some(Self(place as u8 + 1))
    }

    /// All of them, the smallest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        (1..=Self::COUNT as u8).map(Self)
    }

    /// The value byte.
    pub fn byte(self) -> u8 {
        self.0
    }

    /// Its place among all, from 0.
    pub fn place(self) -> usize {
        usize::from(self.0) - 1
    }

    /// What it is worth, in cents.
    pub fn cents(self) -> u64 {
        CENTS[self.place()]
    }

    /// How many there are.
    pub const COUNT: usize = CENTS.len();
}

/// Euro coins, 1 c to 2 EUR, and notes, 5 to 500 EUR (the last is no longer printed but valid).
const CENTS: [u64; 15] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000,
];
