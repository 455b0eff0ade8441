"""Logs of trades between real phones become the table that simulations have.

The benchmark app's CSV, and JSON Lines with the columns of a trace, as the probe writes them. A log
comes from another device, so every line is checked before anything is made of it; a wrong one is a
`ScenarioError` with its number. Time and memory grow with the file, whatever numbers it holds.
What does not live here: writing logs (`sim.export.app_csv`), and what they mean (`sim.metrics`).
"""

from __future__ import annotations

import codecs
import csv
import itertools
import json
import operator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pocketsim.sim import trace
from pocketsim.sim.base.errors import ScenarioError, did_you_mean, nearest, shown
from pocketsim.sim.base.files import opened
from pocketsim.sim.export import log_check
from pocketsim.sim.export.app_csv import COLUMNS, EPOCH, EXTRA_COLUMNS, MEANINGS
from pocketsim.sim.export.log_columns import (
    Flags,
    Ids,
    Names,
    Numbers,
    Words,
    WrongLineError,
    whole_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from pocketsim.sim.export.log_columns import Column

    Array = np.ndarray[Any, Any]
    Blocks = Iterator[tuple[range, list[str]]]


def read(path: Path) -> pa.Table:
    """Return the trace in a log of the app or the probe: CSV, or JSON Lines by its extension.

    What a probe has not finished has its extension before ".partial". Raises ScenarioError when it
    is neither, with the first wrong line.
    """
    whole = path.with_suffix("") if path.suffix == ".partial" else path
    if whole.suffix in {".json", ".jsonl"}:
        return read_json_lines(path)
    return read_csv(path)


def read_json_lines(path: Path) -> pa.Table:
    """Return the trace in a file of one object a line, with the columns of a trace.

    Repetitions are numbered anew, from 0 in their order. Raises ScenarioError when a line has other
    keys, lacks one, has a value that no trace has, or contradicts another (`sim.export.log_check`).
    """

    def columns(blocks: Blocks) -> dict[str, Array]:
        found, lines_of_rows = _json_columns(), [np.empty(0, np.int64)]
        for numbers, lines in blocks:
            rows = _objects(numbers, lines)
            for name, column in found.items():
                column.add([row[name] for _, row in rows], [number for number, _ in rows])
            lines_of_rows.append(np.array([number for number, _ in rows], np.int64))
        made = {name: column.whole() for name, column in found.items()}
        return made | {"line": np.concatenate(lines_of_rows)}

    found = _checked(path, columns)
    _, found["repetition"] = np.unique(found["repetition"], return_inverse=True)
    message = found["message_id"]
    is_numbered = trace.origin(message) == found["node"]
    found["number"] = np.where(is_numbered, trace.sequence_number(message), -1)
    return _table(path, found)


def read_csv(path: Path, epoch: datetime | None = None) -> pa.Table:
    """Return the trace in a CSV of the app or of `sim.export.app_csv.write_csv`.

    Each tag becomes a repetition, in order of appearance. Time runs from `epoch`, or from the
    earliest row of each tag. Node and message ids that are not whole numbers are numbered in order
    of appearance; where there is no column `peer`, the peer is unknown (-1). Operations that stand
    for no event of a trade are left out. Raises ScenarioError when a column is missing, there twice
    or holds what it cannot, and for a line that contradicts another (`sim.export.log_check`).
    """

    def columns(blocks: Blocks) -> dict[str, Array]:
        found = _CsvColumns()
        rows = _rows(blocks)
        while some := list(itertools.islice(rows, _ROWS_AT_A_TIME)):
            found.add([row for _, row in some], [number for number, _ in some])
        return found.whole()

    found = _checked(path, columns)
    microseconds = found.pop("timestamp")
    origin = _origin(microseconds, found["repetition"], epoch)
    found["time_s"] = (microseconds - origin) / 1e6
    known = np.flatnonzero(found["kind"] != "")
    if found["kind"].size and not known.size:
        operations = ", ".join(name for name in MEANINGS if MEANINGS[name][0] != name)
        reason = f"no operation is of a trade: those are {operations}"
        raise ScenarioError(path, "", reason)
    return _table(path, {name: values[known] for name, values in found.items()})


def _checked(path: Path, columns: Callable[[Blocks], dict[str, Array]]) -> dict[str, Array]:
    """Return the columns of the file's lines; what is wrong with one is the file's."""
    try:
        with opened(path) as file:
            return columns(_blocks(file))
    except WrongLineError as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: WrongLineError) -> ScenarioError:
    return ScenarioError(path, f"line {error.line}", error.reason)


def _table(path: Path, columns: dict[str, Array]) -> pa.Table:
    repetitions = int(columns["repetition"].max(initial=-1)) + 1
    if repetitions > _MOST_REPETITIONS:
        reason = f"has {repetitions} repetitions; {_MOST_REPETITIONS} are as many as make sense"
        raise ScenarioError(path, "", reason)
    try:
        log_check.check(log_check.Rows.of(columns))
    except WrongLineError as error:
        raise _refused(path, error) from None
    # Several threads write as they observe, so rows are not quite in order of time.
    order = np.lexsort((columns["time_s"], columns["repetition"]))
    return trace.build(**{name: columns[name][order] for name in trace.COLUMNS})


def _blocks(file: BinaryIO) -> Blocks:
    """Yield lines without their ends, many at a time, and their numbers; no mark of byte order."""
    number, rest = 1, file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
    while read := file.read(_BLOCK_BYTES):
        *lines, rest = (rest + read).split(b"\n")
        yield from _block(number, lines)
        number += len(lines)
        if len(rest) > _LONGEST_LINE_BYTES:
            raise WrongLineError(number, _TOO_LONG)
    if rest:
        yield from _block(number, [rest])
    elif number == 1:
        raise WrongLineError(1, "there is none")


def _block(first: int, lines: list[bytes]) -> Blocks:
    if lines:
        numbers = range(first, first + len(lines))
        yield numbers, [_text(number, line) for number, line in zip(numbers, lines, strict=True)]


def _text(number: int, line: bytes) -> str:
    if len(line) > _LONGEST_LINE_BYTES:
        raise WrongLineError(number, _TOO_LONG)
    try:
        return line.decode("utf-8" if number > 1 else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongLineError(number, f"not UTF-8 text (byte {error.start})") from None


def _objects(numbers: range, lines: list[str]) -> list[tuple[int, dict[str, Any]]]:
    """Return the object of each line that is not blank, with all keys."""
    pairs = [(number, line) for number, line in zip(numbers, lines, strict=True) if line.strip()]
    # As one list they are read three times as fast. What that does not prove to be right is read
    # again, line by line, to see what is wrong.
    rows = _read_at_once([line for _, line in pairs])
    if rows is None:
        return [(number, _object(number, line)) for number, line in pairs]
    return [(number, row) for (number, _), row in zip(pairs, rows, strict=True)]


def _read_at_once(lines: list[str]) -> list[dict[str, Any]] | None:
    text = ",".join(lines)
    try:
        rows: list[Any] = json.loads(f"[{text}]")
    except (RecursionError, ValueError):
        return None
    is_right = (
        len(rows) == len(lines)
        # One object a line: two in one and none in the next are as many.
        and all(line.startswith("{") and line.endswith("}") for line in map(str.strip, lines))
        and all(type(row) is dict and row.keys() == _KEYS for row in rows)
        and all(text.count(f'"{key}"') == len(lines) for key in trace.COLUMNS)  # each is there once
    )
    return rows if is_right else None


def _object(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]} (column {error.colno})"
        raise WrongLineError(number, reason) from None
    except (RecursionError, ValueError):
        raise WrongLineError(number, "not JSON that a log has") from None
    if type(row) is not dict:
        raise WrongLineError(number, "is no JSON object")
    row.setdefault("reason", None)
    if row.keys() != _KEYS:
        raise WrongLineError(number, _other_keys(row))
    return row


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is there twice")
    return made


def _other_keys(row: dict[str, Any]) -> str:
    for key in row:
        if key not in _KEYS:
            return f"unknown key {shown(repr(key))}{did_you_mean(nearest(key, _KEYS))}"
    return f"no {next(key for key in trace.COLUMNS if key not in row)!r}"


def _json_columns() -> dict[str, Column]:
    return {
        "repetition": Numbers("repetition", 0, _MOST_REPETITIONS - 1),
        "time_s": Numbers("time_s", 0.0, _LONGEST_S),
        "node": Numbers("node", 0, _INT32),
        "kind": Words("kind"),
        "message_id": Numbers("message_id", -_INT64 - 1, _INT64),
        "peer": Numbers("peer", -1, _INT32),
        "message_size": Numbers("message_size", 0, _INT32),
        "reason": Words("reason", may_lack=True),
        "logged": Flags("logged"),
    }


def _rows(blocks: Blocks) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield of each row of a CSV what `_USED` names, empty texts for columns that it lacks."""
    lines = itertools.chain.from_iterable(lines for _, lines in blocks)
    reader = csv.reader(lines, strict=True)
    try:
        header = next(reader, [])
        pick = _picker(header)
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                reason = f"has {len(row)} fields, not {len(header)}"
                raise WrongLineError(reader.line_num, reason)
            row.append("")
            yield reader.line_num, pick(row)
    except csv.Error as error:
        raise WrongLineError(max(reader.line_num, 1), f"not CSV: {error}") from None


def _picker(header: list[str]) -> Callable[[list[str]], tuple[str, ...]]:
    """Return what picks the columns of `_USED` from a row with an empty text at its end."""
    for name in (*COLUMNS, *EXTRA_COLUMNS):
        if header.count(name) > 1:
            raise WrongLineError(1, f"there are {header.count(name)} columns {name!r}")
        if name not in header and name in COLUMNS:
            reason = f"no column {name!r}; expected {', '.join(COLUMNS)}"
            raise WrongLineError(1, reason)
    return operator.itemgetter(*(header.index(name) if name in header else -1 for name in _USED))


class _CsvColumns:
    """The columns of a trace, from texts of a CSV."""

    def __init__(self) -> None:
        self._nodes, self._messages = Ids(0, _INT32), Ids(-_INT64 - 1, _INT64)
        self._timestamp = Numbers("timestamp", -_INT64, _INT64, _MOMENT)
        self._size = Numbers("message_size", 0, _INT32)
        self._tag = Names("tag")
        self._reason = Words("reason", may_lack=True)
        self._parts: dict[str, list[Array]] = {
            name: [] for name in ("kind", "logged", "node", "message_id", "peer", "number", "line")
        }

    def add(self, rows: Sequence[tuple[str, ...]], lines: Sequence[int]) -> None:
        """Take rows of `_USED`, and the lines that they end in; raises WrongLineError."""
        operations, stamps, nodes, messages, sizes, tags, turns, peers, reasons = zip(
            *rows, strict=True
        )
        meanings = [MEANINGS.get(operation, ("", True)) for operation in operations]
        self._timestamp.add([_microseconds(stamp) for stamp in stamps], lines)
        # What is no event of a trade may have no size.
        pairs = zip(sizes, meanings, strict=True)
        self._size.add([whole_number(size) if kind else 0 for size, (kind, _) in pairs], lines)
        self._tag.add(tags, lines)
        self._reason.add([reason or None for reason in reasons], lines)
        are_events = [kind != "" for kind, _ in meanings]
        parts = {
            "kind": np.array([kind for kind, _ in meanings], object),
            "logged": np.array([logged for _, logged in meanings], bool),
            "node": self._nodes.places("node_id", nodes, lines, are_events),
            "message_id": self._messages.places("message_id", messages, lines, are_events),
            "peer": self._nodes.places("peer", peers, lines),
            "number": np.array([_turn(turn) for turn in turns], np.int64),
            "line": np.array(lines, np.int64),
        }
        for name, part in parts.items():
            self._parts[name].append(part)

    def whole(self) -> dict[str, Array]:
        """Return all rows, with `timestamp` in microseconds since `EPOCH` instead of a time."""
        nothing = {"kind": object, "logged": bool}
        found = {
            name: np.concatenate([np.empty(0, nothing.get(name, np.int64)), *parts])
            for name, parts in self._parts.items()
        }
        ids = {"node": self._nodes, "peer": self._nodes, "message_id": self._messages}
        return {
            **{
                name: ids[name].ids(values) if name in ids else values
                for name, values in found.items()
            },
            "repetition": self._tag.whole(),
            "timestamp": self._timestamp.whole(),
            "message_size": self._size.whole(),
            "reason": self._reason.whole(),
        }


def _turn(text: str) -> int:
    """Return which proposal of its phone a row is about, or -1 if it does not say."""
    number = whole_number(text)
    return number if isinstance(number, int) and 0 <= number <= _INT64 else -1


def _microseconds(stamp: str) -> int | str:
    """Return a stamp of the app as time since `EPOCH`, or `stamp` if it is none."""
    try:
        return _since(EPOCH, datetime.fromisoformat(stamp))
    except ValueError:
        return stamp


def _since(start: datetime, moment: datetime) -> int:
    # chrono prints an offset; a stamp without one is taken as UTC.
    passed = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - start
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def _origin(microseconds: Array, repetition: Array, epoch: datetime | None) -> Array:
    if epoch is not None:
        return np.full(microseconds.shape, _since(EPOCH, epoch))
    first = np.full(int(repetition.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, repetition, microseconds)
    return first[repetition]


_KEYS = frozenset(trace.COLUMNS)
_USED = (
    *("operation", "timestamp", "node_id", "message_id", "message_size", "tag"),
    "sequence_number",
    *EXTRA_COLUMNS,
)
_MOMENT = "a moment such as 2025-06-22T10:00:00.000001Z"
_INT32, _INT64 = 2**31 - 1, 2**63 - 1  # what a trace has room for
_LONGEST_S = 1e10  # three hundred years
_LONGEST_LINE_BYTES = 1 << 16
_TOO_LONG = f"is longer than {_LONGEST_LINE_BYTES} bytes"
_BLOCK_BYTES = 1 << 20
_ROWS_AT_A_TIME = 1 << 14
_MOST_REPETITIONS = 10_000  # each is measured by itself
