//! Amounts as people write them, in cents exactly, and the coins that an amount is minted as.
//!
//! What deliberately does not live here: what a wallet can pay (the machine chooses).

use pocketsim_protocols::token::Denomination;

/// The cents of `12.34`, `12.3` or `12`; a comma may stand for the point.
///
/// # Errors
/// Nothing, more than two decimals, no number, or more than [`AMOUNT_MAX_CENTS`].
pub fn parse(text: &str) -> Result<u64, String> {
    let (whole, decimals) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !are_digits(whole) || !are_digits(decimals) || decimals.len() > 2 {
        return Err(format!("{text:?} is no amount like 12.34"));
    }
    let tens = if decimals.len() == 1 { 10 } else { 1 };
    let cents = whole.parse::<u64>().ok().and_then(|euros| {
        let decimals = decimals.parse::<u64>().expect("two digits") * tens;
        euros.checked_mul(100)?.checked_add(decimals)
    });
    match cents {
        Some(0) => Err("nothing is no amount".to_owned()),
        Some(cents) if cents <= AMOUNT_MAX_CENTS => Ok(cents),
        _ => Err(format!("{text} is more than {}", show(AMOUNT_MAX_CENTS))),
    }
}

/// Cents as [`parse`] reads them.
pub fn show(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// Coins and notes worth `amount_cents`, from which every amount up to it can be paid exactly.
///
/// Nobody gives change offline: the receiver would have to pay some back. A coin that is at most
/// one cent more than all before it are worth leaves no gap.
pub fn purse(amount_cents: u64) -> Vec<Denomination> {
    let (mut coins, mut sum_cents) = (Vec::new(), 0);
    while sum_cents < amount_cents {
        let most_cents = (amount_cents - sum_cents).min(sum_cents + 1);
        let fits = |coin: &Denomination| coin.cents() <= most_cents;
        let coin = Denomination::all().rev().find(fits);
        let coin = coin.expect("one cent always fits");
        sum_cents += coin.cents();
        coins.push(coin);
    }
    coins
}

/// A million euros, some two thousand tokens: this is a probe.
pub const AMOUNT_MAX_CENTS: u64 = 100_000_000;
