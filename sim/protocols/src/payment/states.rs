//! The states of a payment, at its payer's and at its payee's.
//!
//! What deliberately does not live here: what is kept in each state ([`super::payer`],
//! [`super::payee`]).

use crate::named_enum;
use crate::transitions::Table;

named_enum! {
    /// How far a payment is, at the payer's.
    PayerState {
        /// The payer may still give up.
        Offered = "offered",
        /// Its tokens are signed away: that is repeated until it is answered.
        Signed = "signed",
        /// The payee has answered for good.
        Answered = "answered",
        /// Nothing was signed.
        GivenUp = "given_up",
    }
}

named_enum! {
    /// What happens to a payment, at the payer's.
    PayerEvent {
        /// The payer offers the payment.
        Offer = "offer",
        /// The payer repeats what has no answer.
        Repeat = "repeat",
        /// The payee asks for the tokens, and the payer signs them over.
        Sign = "request, signed",
        /// The payee asks for the tokens, and there are none, or there is no room for change.
        Fail = "request, not signed",
        /// The payee will not.
        Decline = "decline",
        /// Nobody asked for the tokens in time.
        Expire = "expire",
        /// The payee has taken them, or says why not.
        Receipt = "receipt",
    }
}

/// The payer's half of a payment.
pub const PAYER: Table<PayerState, PayerEvent> = {
    use PayerEvent::*;
    use PayerState::*;
    Table::new(&[
        (None, Offer, Offered),
        (Some(Offered), Repeat, Offered),
        (Some(Offered), Sign, Signed),
        (Some(Offered), Fail, GivenUp),
        (Some(Offered), Decline, GivenUp),
        (Some(Offered), Expire, GivenUp),
        (Some(Signed), Repeat, Signed),
        (Some(Signed), Receipt, Answered),
    ])
};

named_enum! {
    /// How far a payment is, at the payee's.
    PayeeState {
        /// The tokens were asked for.
        Asked = "asked",
        /// They are with the authority (online).
        Verifying = "verifying",
        /// They are taken, and there is no change for them yet.
        Owing = "owing",
        /// The receipt is given, and kept to be given again.
        Answered = "answered",
        /// Nothing is kept of it.
        Forgotten = "forgotten",
    }
}

named_enum! {
    /// What happens to a payment, at the payee's.
    PayeeEvent {
        /// The payee asks for the tokens of an offer.
        Ask = "request",
        /// The payer will not pay, and has signed nothing.
        Cancel = "cancel",
        /// It is old, and there is no room for new ones.
        Expire = "expire",
        /// The payee hands the tokens on to the authority.
        Submit = "submit",
        /// The payee would give change and has none.
        Owe = "no change yet",
        /// The payee gives change and a receipt.
        Receipt = "receipt",
        /// The receipt had no tokens in it, and there are too many of those.
        Forget = "forget",
    }
}

/// The payee's half of a payment. Tokens may come that it never asked for, or has forgotten that it
/// did: they are taken, but it owes no change for them.
pub const PAYEE: Table<PayeeState, PayeeEvent> = {
    use PayeeEvent::*;
    use PayeeState::*;
    Table::new(&[
        (None, Ask, Asked),
        (None, Submit, Verifying),
        (None, Receipt, Answered),
        (Some(Asked), Cancel, Forgotten),
        (Some(Asked), Expire, Forgotten),
        (Some(Asked), Submit, Verifying),
        (Some(Asked), Owe, Owing),
        (Some(Asked), Receipt, Answered),
        (Some(Verifying), Owe, Owing),
        (Some(Verifying), Receipt, Answered),
        (Some(Owing), Owe, Owing),
        (Some(Owing), Receipt, Answered),
        (Some(Answered), Forget, Forgotten),
    ])
};
