//! Why a token was refused, by a client or by the authority.
//!
//! What deliberately does not live here: the checks.

crate::named_enum! {
    /// Why a token was refused.
    Refusal {
        /// Its value is no denomination.
        InvalidDenomination = "invalid_denomination",
        /// The same serial stood before it in one batch.
        DuplicateSerial = "duplicate_serial",
        /// Its last recipient is somebody else.
        WrongRecipient = "wrong_recipient",
        /// Minted by an authority that the client does not know, or another than this one.
        UnknownAuthority = "unknown_authority",
        /// The receiver wants a challenge in the last pair, and there is none.
        MissingChallenge = "missing_challenge",
        /// The challenge in it was not handed out, or so long ago that it is forgotten.
        UnknownChallenge = "unknown_challenge",
        /// The challenge in it was handed out to somebody else.
        WrongGiver = "wrong_giver",
        /// It has been taken for this challenge already: a replay, or sent twice.
        UsedChallenge = "used_challenge",
        /// It has more recipients than the authority takes, or its receiver would be the last.
        NoRoom = "no_room",
        /// The receiver holds this serial and has not spent it: somebody before has, twice.
        AlreadyHeld = "already_held",
        /// The receiver holds this serial, and so many others of it that this one is not kept: to be
        /// sent again when it has settled them.
        TooManyDisputed = "too_many_disputed",
        /// The authority did not sign its first pair.
        InvalidFirstProof = "invalid_first_proof",
        /// A later pair is not signed by the recipient before it.
        InvalidProof = "invalid_proof",
        /// Too few recipients: the thesis wants an initial one, a second one and the authority.
        TooFewRecipients = "too_few_recipients",
        /// The last recipient but one is not who submits it.
        WrongSubmitter = "wrong_submitter",
        /// In a layout that the prototype does not read.
        UnknownLayout = "unknown_layout",
        /// No token with this serial was minted.
        UnknownSerial = "unknown_serial",
        /// Another value than the one it was minted or submitted with.
        WrongValue = "wrong_value",
        /// The authority has withdrawn its serial.
        Blacklisted = "blacklisted",
        /// Signed by the authority, yet not one of the copies that it keeps.
        NeverIssued = "never_issued",
        /// Came in before, by the same way or further on it: with the prototype's rules always, with
        /// the thesis's once what it was reissued as has come back, too.
        AlreadyRedeemed = "already_redeemed",
        /// Another continuation of it came in before.
        DoubleSpend = "double_spend",
    }
}
