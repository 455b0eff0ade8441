"""Which batches of tokens are compared, and what `probe tokens` does to each of them.

Every batch has an authority and two clients of its own, alice and bob, in folders that are new.
Nothing here measures or predicts; what a command does to files is that of docs/tokens.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from pocketsim.sim.base import token_bytes
from pocketsim.sim.base.streams import stream

SEED = 1
"""Of the order of batches and of the simulations."""
AMOUNTS_CENTS = {1: 1, 10: 58, 100: 3_600_000, 1000: 48_600_000}
"""What `probe tokens mint` makes so many tokens of: coins that pay every amount up to it."""
MEMORY, DISK = "memory", "disk"


@dataclass(frozen=True)
class Stage:
    """A stage of the simulator's ring: a phone signs a batch, or checks all its proofs.

    `recipients` are those of its tokens, once they are signed.
    """

    name: str
    recipients: int


SIGN, CHECK = "sign", "check"


@dataclass(frozen=True)
class Command:
    """One call of `probe tokens`, and what it does to each token, and to files.

    `bookkeeping` is the probe's kernel of what it does in memory beside signatures; it has none
    where nothing is predicted. `stages` are the machine's work. `signed_bytes` and `checked_bytes`
    are of whole files that are signed, `opened` of those that are read beside what is read of every
    folder, `replaced` of those that are put in the place of others, `created` of those that have a
    new name, and `appended` is by what the journal grows, all for each token; of an idle command,
    in all. `has_output` is whether it finds out where a file goes that the user names.
    """

    name: str
    step: str
    bookkeeping: str = ""
    stages: tuple[Stage, ...] = ()
    signed_bytes: int = 0
    checked_bytes: int = 0
    opened: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    created: tuple[int, ...] = ()
    appended: int = 0
    has_output: bool = False

    def signatures(self, tokens: int) -> tuple[int, int]:
        """Return how many signatures it makes and checks, of tokens and of files."""
        made = sum(tokens for stage in self.stages if stage.name == SIGN)
        checked = sum(tokens * one.recipients for one in self.stages if one.name == CHECK)
        return made + bool(self.signed_bytes), checked + bool(self.checked_bytes)

    @property
    def is_of_authority(self) -> bool:
        """Whether an authority does it, not a client."""
        return self.step in {"mint", "verify"}


@dataclass(frozen=True)
class Batch:
    """So many tokens, in a folder that is in memory or on the disk."""

    tokens: int
    place: str

    @property
    def name(self) -> str:
        """What it is called in a table and a journal."""
        return f"{self.tokens} {self.place}"


@dataclass(frozen=True)
class Effort:
    """How many tokens the batches have, and how often each is measured and simulated."""

    sizes: tuple[int, ...]
    repetitions: int
    draws: int


FULL = Effort(tuple(AMOUNTS_CENTS), repetitions=5, draws=200)
QUICK = Effort((100,), repetitions=2, draws=8)


def batches(effort: Effort, places: tuple[str, ...]) -> list[Batch]:
    """Return every batch, those of a place together."""
    return [Batch(tokens, place) for place in places for tokens in effort.sizes]


def order(several: list[Batch], turn: int) -> list[Batch]:
    """Return the batches in the order of one turn over all of them, another for each turn."""
    drawn = stream(SEED, f"validate/host/tokens/order/{turn}").permutation(len(several))
    return [several[place] for place in drawn]


def held_bytes(recipients: int) -> int:
    """Return the bytes of a token in the layout with challenges, in every pair but the first."""
    return token_bytes.size(recipients) + _CHALLENGE_BYTES * (recipients - 1)


def _request_bytes(recipients: int) -> int:
    return held_bytes(recipients) + _REQUEST_BYTES


EMPTY_BYTES = 246
"""A wallet without tokens that has asked once: its head and lengths, 16 + 74 + 4 B of what it asked
for, and its SHA-256. `request` writes it."""
_CHALLENGE_BYTES = 16
_REQUEST_BYTES = 5  # intent and length before a submitted token
_REISSUED_BYTES = 32 + 1 + 4 + held_bytes(1)  # a verdict: SHA-256, kind, length, token
_REDEEMED_BYTES = 32 + 1 + 8 + 64  # SHA-256, kind, serial, last proof
_PENDING_BYTES = 1  # the intent of a submitted token in a wallet
_TAKEN_BYTES = 8 + 64  # serial and proof, which a wallet keeps of what it took
_FRAME_BYTES = 9 + 8  # around a record of the journal

GARBAGE = b"no submission"
"""What an authority refuses in `REFUSE`."""
_NONE_REFUSED_BYTES = len("{}")
_ONE_REFUSED_BYTES = len('{"malformed":1}')

REQUEST = Command("request", "request", "token_request_bookkeeping", replaced=(EMPTY_BYTES,))
"""Of a client: its folder is opened, and its wallet replaced."""
REFUSE = Command(
    "refuse",
    "verify",
    "token_refuse_bookkeeping",
    opened=(len(GARBAGE), _NONE_REFUSED_BYTES),
    replaced=(_ONE_REFUSED_BYTES,),
    has_output=True,
)
"""Of an authority: its folder is opened, and its counts of refusals are replaced."""
IDLE = (REQUEST, REFUSE)
"""Commands that do nothing to any token.

Each opens a folder and writes one file, as every other does, and finds the code for both for the
first time in its process, which a loop does not. What one does and another does not is taken off at
its price.
"""


def idle_of(command: Command) -> Command:
    """Return the idle command of the same kind of folder."""
    return REFUSE if command.is_of_authority else REQUEST


MINT = Command(
    "mint",
    "mint",
    "token_mint_bookkeeping",
    (Stage(SIGN, 1),),
    created=(held_bytes(1), held_bytes(1)),  # a copy of the batch, the batch
    appended=_FRAME_BYTES + held_bytes(1),
    has_output=True,
)
TAKE = Command("take", "receive", "", (Stage(CHECK, 1),), replaced=(held_bytes(1) + _TAKEN_BYTES,))
PAY = Command(
    "pay",
    "pay",
    "token_pay_bookkeeping",
    (Stage(SIGN, 2),),
    replaced=(held_bytes(2) + _TAKEN_BYTES,),  # the wallet, which has the batch, too
    created=(held_bytes(2), held_bytes(2)),  # a copy of the batch, the batch
    has_output=True,
)
RECEIVE = Command(
    "receive",
    "receive",
    "token_receive_bookkeeping",
    (Stage(CHECK, 2),),
    opened=(held_bytes(2),),
    replaced=(held_bytes(2) + _TAKEN_BYTES,),
)
SUBMIT = Command(
    "submit",
    "submit",
    "token_submit_bookkeeping",
    (Stage(SIGN, 3),),
    signed_bytes=_request_bytes(3),
    replaced=(held_bytes(3) + _PENDING_BYTES + _TAKEN_BYTES,),
    created=(_request_bytes(3),),
    has_output=True,
)
VERIFY = Command(
    "verify",
    "verify",
    "token_verify_bookkeeping",
    (Stage(CHECK, 3), Stage(SIGN, 1)),
    signed_bytes=_REISSUED_BYTES,
    checked_bytes=_request_bytes(3),
    opened=(held_bytes(1), _request_bytes(3)),  # what was sent last, and what is asked
    created=(_REISSUED_BYTES,),
    appended=_FRAME_BYTES + held_bytes(3) + held_bytes(1),
    has_output=True,
)
SETTLE = Command(
    "settle",
    "settle",
    "token_settle_bookkeeping",
    (Stage(CHECK, 1),),
    checked_bytes=_REISSUED_BYTES,
    opened=(_REISSUED_BYTES,),
    replaced=(held_bytes(1) + _TAKEN_BYTES,),
)
CASH_IN = Command(
    "submit --redeem",
    "submit",
    "token_submit_redeem_bookkeeping",
    (Stage(SIGN, 2),),
    signed_bytes=_request_bytes(2),
    # The wallet; the submission, in the place of the one before.
    replaced=(held_bytes(2) + _PENDING_BYTES + _TAKEN_BYTES, _request_bytes(2)),
    has_output=True,
)
REDEEM = Command(
    "verify --redeem",
    "verify",
    "token_verify_redeem_bookkeeping",
    (Stage(CHECK, 2),),
    signed_bytes=_REDEEMED_BYTES,
    checked_bytes=_request_bytes(2),
    opened=(held_bytes(1), _request_bytes(2)),
    replaced=(_REDEEMED_BYTES,),
    appended=_FRAME_BYTES + held_bytes(2),
    has_output=True,
)
PAID_OUT = Command(
    "settle --redeem",
    "settle",
    "token_settle_redeem_bookkeeping",
    checked_bytes=_REDEEMED_BYTES,
    opened=(_REDEEMED_BYTES,),
    replaced=(_TAKEN_BYTES,),
)

OPERATIONS: dict[str, tuple[Command, ...]] = {
    "mint": (MINT,),
    "transfer": (PAY, RECEIVE),
    "verify": (SUBMIT, VERIFY, SETTLE),
    "redeem": (CASH_IN, REDEEM, PAID_OUT),
}
"""What is compared. `take`, by which alice has what was minted, is measured and not compared."""
