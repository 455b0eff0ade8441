"""What verifies tokens refuses whatever was altered, and finds every token that was spent twice."""

from dataclasses import replace

import pytest

from pocketsim.sim.export import offline_token, token_check
from pocketsim.sim.export.findings import DoubleSpend, MalformedError
from support.signed import handed, key, minted, secret, token_row

AUTHORITY = key("authority")
PLAIN = handed(minted(5, 1), 1, 2, 3)
CHALLENGED = handed(minted(6, 1), 1, 2, 3, challenge=7)


def check(*rows):
    return token_check.check(rows, AUTHORITY)


def reasons(*rows):
    return [failure.reason for failure in check(*rows).failures]


def test_good_tokens_are_counted_by_phone():
    found = check(
        token_row(3, PLAIN),
        token_row(3, CHALLENGED, "disputed"),
        token_row(3, handed(minted(2**64 - 1, 3), 3, "authority"), "pending"),
        token_row(4, handed(minted(8, 4), 4, 3), "signed_away"),
    )
    assert found.failures == found.double_spends == []
    assert found.counts == {
        3: {"tokens": 3, "held": 1, "disputed": 1, "pending": 1, "proofs": 8},
        4: {"tokens": 1, "signed_away": 1, "proofs": 2},
    }


@pytest.mark.parametrize("token", [minted(4, 3), PLAIN, CHALLENGED])
def test_every_bit_of_a_token_is_checked(token):
    data = token.encode()
    assert reasons(token_row(3, token)) == []
    for place in range(8 * len(data)):
        altered = bytearray(data)
        altered[place // 8] ^= 1 << place % 8
        row = {**token_row(3, token), "token": bytes(altered)}
        assert len(reasons(row)) == 1, f"bit {place}"


def test_a_failure_names_phone_token_and_reason():
    data = bytearray(PLAIN.encode())
    data[-1] ^= 1
    (failure,) = check({**token_row(3, PLAIN), "token": bytes(data)}).failures
    assert (failure.phone, failure.what) == (3, "held token 0000000000000005")
    assert failure.reason == "recipient 2 did not sign pair 3"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is cut short"),
        (PLAIN.encode()[:-1], "it is cut short"),
        (PLAIN.encode() + b"\0", "1 bytes follow the token"),
        (b"\0\0" + PLAIN.encode()[2:], "its count of recipients is 0x0000"),
        (b"\x80\x01" + minted(1, 3).encode()[2:], "its count of recipients is 0x8001"),
        (replace(PLAIN, authority=b"x" * 74).encode(), "a key does not start with LibNaCLPK:"),
    ],
)
def test_malformed_token_is_refused(data, reason):
    with pytest.raises(MalformedError, match=reason):
        offline_token.decode(data)


def test_the_first_proof_is_the_authoritys():
    forged = replace(minted(4, 3), authority=key("somebody"))
    assert reasons(token_row(3, forged)) == ["it is of another authority"]
    signature = secret("somebody").sign(minted(4, 3).signed()[0][1]).signature
    pair = replace(minted(4, 3).pairs[0], proof=signature)
    assert reasons(token_row(3, replace(minted(4, 3), pairs=(pair,)))) == [
        "the authority did not sign pair 1"
    ]


def test_a_proof_of_anybody_but_the_holder_is_refused():
    assert reasons(token_row(3, handed(minted(4, 1), 2, 3))) == ["recipient 1 did not sign pair 2"]


@pytest.mark.parametrize("value", [0, 16, 255])
def test_a_value_that_is_no_money_is_refused(value):
    assert reasons(token_row(3, minted(4, 3, value=value))) == [f"value {value} is no money"]


def test_the_serial_of_the_row_is_that_of_the_token():
    assert reasons({**token_row(3, minted(4, 3)), "serial": 5}) == [
        "its own serial is 0000000000000004"
    ]


def test_a_token_is_whose_the_chain_says():
    away, pending = handed(minted(4, 3), 3, 5), handed(minted(4, 3), 3, "authority")
    for phone, token, state, reason in [
        (3, pending, "held", "it is signed over to the authority"),
        (3, pending, "signed_away", "it is signed over to the authority"),
        (3, away, "pending", "it is not the authority's"),
        (3, minted(4, 3), "signed_away", "nobody has signed it away"),
        (3, away, "held", "its holder has another key than what phone 3 signed before"),
        (6, away, "signed_away", "its holder has the key of phone 3"),
    ]:
        assert reasons(token_row(3, minted(9, 3)), token_row(phone, token, state)) == [reason]


def test_forged_token_does_not_define_a_phones_key():
    """A forged token comes first: the phone's other tokens are still its own."""
    forged = handed(minted(4, 1), 2, 5)
    assert len(reasons(token_row(3, forged), token_row(3, minted(5, 3)))) == 1


def test_the_authority_gives_a_life_to_one_phone():
    other = reasons(token_row(3, minted(4, 3)), token_row(5, minted(4, 5)))
    assert other == ["the authority gave one life of it to two phones"]
    assert reasons(token_row(3, minted(4, 3)), token_row(5, minted(4, 5, life=1))) == []


def test_a_token_signed_to_two_payees_is_found():
    token = handed(minted(4, 1), 1, 2)
    found = check(
        token_row(2, token, "held"),
        token_row(3, handed(token, 2, 3)),
        token_row(5, handed(token, 2, 4, 5)),
        token_row(4, handed(token, 2, 4, 5), "signed_away"),
    )
    assert found.failures == []
    assert found.double_spends == [DoubleSpend(2, f"{4:016x}", (3, 4))]
    assert found.counts[2]["double_spends"] == 1


def test_every_branch_counts():
    token = minted(4, 1)
    rows = [token_row(phone, handed(token, 1, phone)) for phone in (2, 3, 5)]
    assert check(*rows).double_spends == [DoubleSpend(None, f"{4:016x}", (2, 3, 5))]


def test_the_same_payee_may_be_given_two_branches():
    token = minted(4, 1)
    rows = [
        token_row(2, handed(token, 1, 2, challenge=1)),
        token_row(2, handed(token, 1, 2, challenge=2), "disputed"),
    ]
    assert check(*rows).double_spends == [DoubleSpend(None, f"{4:016x}", (2, 2))]


def test_a_copy_or_an_older_state_is_no_double_spend():
    token = handed(minted(4, 1), 1, 2)
    rows = [
        token_row(1, token, "signed_away"),
        token_row(2, token),
        token_row(2, handed(token, 2, 3), "signed_away"),
        token_row(3, handed(token, 2, 3)),
    ]
    assert check(*rows).double_spends == []


def test_two_lives_of_a_serial_are_no_double_spend():
    rows = [token_row(2 + life, handed(minted(4, 1, life=life), 1, 2 + life)) for life in (0, 1)]
    assert check(*rows).double_spends == []


def test_a_forged_branch_accuses_nobody():
    token = minted(4, 1)
    rows = [token_row(2, handed(token, 1, 2)), token_row(3, handed(token, 5, 3))]
    found = check(*rows)
    assert found.double_spends == []
    assert len(found.failures) == 1
