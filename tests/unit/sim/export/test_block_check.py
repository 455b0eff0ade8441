"""What verifies blocks refuses whatever was altered, forked, left out or put elsewhere."""

from dataclasses import replace

import pytest

from pocketsim.sim.export import block_check, trade_block
from pocketsim.sim.export.findings import MalformedError
from support.signed import Traders, secret, signed


def reasons(rows, *, continued=False):
    return [
        (failure.phone, failure.reason)
        for failure in block_check.check(rows, continued=continued).failures
    ]


@pytest.fixture
def traders():
    """Return phones of which 0 proposes to 1 and 2, 1 to 0, and some answers are lost."""
    found = Traders()
    found.trade(0, 1)
    found.trade(0, 2)
    found.trade(1, 0)
    found.trade(0, 1, lost=True)
    found.trade(2, 1)
    found.trade(0, 2)
    return found


def test_good_chains_are_counted_by_phone(traders):
    found = block_check.check(traders.rows(), continued=False)
    assert found.failures == []
    assert found.counts == {
        0: {"blocks": 4, "proposed": 3, "countersigned": 1},
        1: {"blocks": 4, "proposed": 1, "countersigned": 3, "unanswered": 1},
        2: {"blocks": 3, "proposed": 1, "countersigned": 2},
    }


def test_several_proposals_may_stand_on_one_block():
    traders = Traders()
    traders.trade(0, 1)
    several = [traders.propose(0, 1) for _ in range(3)]
    # Answers may come in any order.
    for block in (several[1], several[0], several[2]):
        traders.agree(block, 0, 1)
    traders.trade(0, 1)
    assert reasons(traders.rows()) == []


@pytest.mark.slow
def test_every_bit_of_a_block_is_checked(traders):
    rows = traders.rows()
    data = rows[1]["block"]
    for place in range(8 * len(data)):
        altered = bytearray(data)
        altered[place // 8] ^= 1 << place % 8
        found = reasons([rows[0], {**rows[1], "block": bytes(altered)}, *rows[2:]])
        # It, and what stands on it.
        assert (0, found[0][1]) == found[0], f"bit {place}"
        with pytest.raises(MalformedError):
            trade_block.verify(trade_block.decode(bytes(altered)))


@pytest.mark.parametrize("name", [*trade_block.Block.__dataclass_fields__])
def test_every_field_is_signed(traders, name):
    block = traders.chains[0][3][0]
    value = getattr(block, name)
    if isinstance(value, bytes):
        altered = bytes([value[0] ^ 1]) + value[1:]
        # Not every 32 bytes are a key.
        other = bytes(secret("other").verify_key) if "pubkey" in name else altered
    else:
        other = "0001xxxxx" if isinstance(value, str) else value + 1
    with pytest.raises(MalformedError, match="did not sign it"):
        trade_block.verify(replace(block, **{name: other}))


def test_one_spelling_is_read(traders):
    data = traders.rows()[1]["block"]
    spare = data.index(b"==") - 1
    for other in (
        b" " + data,
        data + b"\n",
        data.replace(b'"index":2', b'"index": 2'),
        data.replace(b'"index":2', b'"index":02'),
        data.replace(b'"index":2', b'"index":0'),
        data.replace(b"0001xxxx", b"001xxxx"),
        data.replace(b"0001xxxx", b"0001x xx"),
        # The last digit of a base64 text has four bits to spare.
        data[:spare] + bytes([data[spare] + 1]) + data[spare + 1 :],
    ):
        assert other != data
        with pytest.raises(MalformedError):
            trade_block.decode(other)
    assert trade_block.decode(data).encode() == data


def test_a_failure_names_phone_block_and_reason(traders):
    rows = traders.rows()
    rows[1] = {**rows[1], "block": b"{}"}
    first = block_check.check(rows, continued=False).failures[0]
    assert (first.phone, first.what) == (0, "block 2 (with phone 2)")
    assert first.reason == "it is not the compact JSON of a block"


def test_a_block_that_is_gone_is_missed(traders):
    rows = traders.rows()
    del rows[4]  # phone 1's first
    found = reasons(rows)
    assert (1, "it should have place 1") in found
    assert (0, "phone 1, which signed it, does not keep it") in found


def test_swapped_blocks_do_not_link(traders):
    rows = traders.rows()
    places = [rows[1]["place"], rows[2]["place"]]
    rows[1], rows[2] = ({**rows[2], "place": places[0]}, {**rows[1], "place": places[1]})
    assert (0, "its previous hash is that of no block before it") in reasons(rows)


def test_a_countersigner_signs_on_its_head(traders):
    """Both have signed, but the countersigner left its last block out of its chain."""
    block = traders.propose(0, 1)
    skipped = trade_block.digest(traders.chains[1][-2][0].encode())
    block = signed(replace(block, prev_hash_receiver=skipped), 0, 1)
    traders.store(1, block, 0, 0)
    traders.store(0, block, 1, 0)
    assert reasons(traders.rows()) == [(1, "it was countersigned on block 3, not on 4")]


def test_a_proposer_never_goes_back(traders):
    block = traders.propose(0, 1)
    older = trade_block.digest(traders.chains[0][0][0].encode())
    traders.agree(replace(block, prev_hash_sender=older), 0, 1)
    assert reasons(traders.rows()) == [(0, "it stands on block 1, but proposal 4 on 3")]


def test_a_hash_of_no_block_is_refused(traders):
    traders.agree(replace(traders.propose(0, 1), prev_hash_sender=b"\1" * 32), 0, 1)
    assert reasons(traders.rows()) == [(0, "its previous hash is that of no block before it")]


def test_a_fork_of_the_proposer_is_found(traders):
    """Index 1 again, with another phone."""
    block = replace(traders.propose(0, 2), index=1)
    traders.agree(block, 0, 2)
    found = reasons(traders.rows())
    assert (0, "its proposer signed another of index 1") in found
    assert (2, "its proposer signed another of index 1") in found


def test_the_same_index_again_is_found(traders):
    first = traders.chains[0][0][0]
    traders.store(0, first, 1, 0)
    assert (0, "there is another proposal of index 1") in reasons(traders.rows())


def test_copies_of_both_parties_agree(traders):
    block, peer, proposer = traders.chains[0].pop()
    other = signed(replace(block, prev_hash_receiver=b"\2" * 32), 0, 2)
    traders.store(0, other, peer, proposer)
    assert reasons(traders.rows()) == [
        (2, "it is not countersigned like the copy of phone 0"),
        (0, "phone 2, which signed it, does not keep it"),
    ]


def test_only_the_countersigner_may_be_alone(traders):
    traders.chains[2].pop()
    found = reasons(traders.rows())
    assert found == [(0, "phone 2, which signed it, does not keep it")]


def test_a_block_is_between_the_phones_that_its_row_names(traders):
    rows = traders.rows()
    for change, reason in [
        ({"message_id": 5}, "its payload has number 0"),
        ({"peer": 2}, "its countersigner"),
    ]:
        found = reasons([{**rows[0], **change}, *rows[1:]])
        assert any(reason in said for _, said in found)


def test_phone_that_trades_with_itself_is_refused():
    traders = Traders()
    with pytest.raises(MalformedError, match="its proposer is its countersigner"):
        trade_block.verify(signed(traders.propose(0, 0), 0, 0))


def test_a_continued_chain_begins_on_what_is_not_kept():
    traders = Traders()
    block = replace(traders.propose(0, 1), prev_hash_sender=bytes(secret(0).verify_key))
    head = bytes(secret(1).verify_key)
    block = signed(replace(block, prev_hash_receiver=head), 0, 1)
    traders.store(0, block, 1, 0)
    traders.store(1, block, 0, 0)
    assert reasons(traders.rows(), continued=True) == []
    assert len(reasons(traders.rows())) == 2


def test_a_malleated_signature_is_refused(traders):
    """S plus the order of the group verifies by the bare equation."""
    order = 2**252 + 27742317777372353535851937790883648493
    block = traders.chains[0][0][0]
    scalar = int.from_bytes(block.receiver_sig[32:], "little") + order
    other = block.receiver_sig[:32] + scalar.to_bytes(32, "little")
    with pytest.raises(MalformedError, match="its countersigner did not sign it"):
        trade_block.verify(replace(block, receiver_sig=other))
