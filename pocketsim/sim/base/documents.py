"""Documents: one way to check scenarios, profiles and sweeps (TOML) and reports (JSON).

A document is a pydantic model that forbids unknown keys. Whatever is wrong with it (unknown key,
wrong value) becomes one `ScenarioError` with file, key path and reason in the user's words. This
module knows no particular document; how bytes become data is the business of `sim.base.files`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from pocketsim.sim.base import files, units
from pocketsim.sim.base.errors import ScenarioError, nearest, shown

if TYPE_CHECKING:
    from pathlib import Path

Model = TypeVar("Model", bound=BaseModel)
Number = TypeVar("Number", int, float)

# Whoever checks a document has read it.
key_path, read_json, read_toml = files.key_path, files.read_json, files.read_toml


class Section(BaseModel):
    """A table of a document: immutable, strict about types, closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)

    is_one_number: ClassVar[bool] = False
    """Whether the section is a number with its uncertainty: one unit holds for all of it."""

    absent_when_none: ClassVar[frozenset[str]] = frozenset()
    """Fields that plain values are without where the document is: runs made before they were known
    keep their digests."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        # Before the fields are looked at: a misspelt key is the cause, a missing one the effect.
        if isinstance(data, Mapping):
            valid = [field.alias or name for name, field in cls.model_fields.items()]
            for key in data:
                if key not in valid:
                    raise PydanticCustomError(
                        "unknown_key", "unknown key", {"key": key, "valid": valid}
                    )
        return data


def validate(model: type[Model], data: Mapping[str, Any], file: str | Path) -> Model:
    """Return `data` as `model`, or raise ScenarioError for the first thing wrong with it."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = min(error.errors(), key=lambda item: item["type"] != "unknown_key")
        raise _translate(details, data, file) from None


def _translate(details: ErrorDetails, data: Mapping[str, Any], file: str | Path) -> ScenarioError:
    context = details.get("ctx", {})
    kind = details["type"]
    parts = _document_path(details, data)
    if kind == "unknown_key":
        key = str(context["key"])
        return ScenarioError(
            file, key_path([*parts, key]), "unknown key", nearest(key, context["valid"])
        )
    if kind.startswith("union_tag"):
        parts = [*parts, str(context["discriminator"]).strip("'")]
    reason, candidates = _reason(details)
    value = context.get("tag", details["input"])
    suggestion = nearest(value, candidates) if isinstance(value, str) else None
    return ScenarioError(file, key_path(parts), reason, suggestion)


def _document_path(details: ErrorDetails, data: Any) -> list[str | int]:
    """Drop from a pydantic location what is not in the document: union tags, items of a scalar."""
    parts: list[str | int] = []
    loc, missing = details["loc"], details["type"] == "missing"
    for number, part in enumerate(loc):
        last = number == len(loc) - 1
        try:
            inside = data[part] if type(data) in (dict, list) else _NOTHING
        except (LookupError, TypeError):
            inside = _NOTHING
        if _is_scalar(inside) and _is_tag(part, loc[number + 1 :], data, details["input"]):
            continue
        if inside is not _NOTHING or (last and missing):
            parts.append(part)
        # What is not there is a union's tag: the next part is looked up in the same table.
        data = data if inside is _NOTHING else inside
    return parts


def _is_scalar(inside: Any) -> bool:
    return inside is not _NOTHING and not isinstance(inside, dict | list)


def _is_tag(part: str | int, rest: Sequence[str | int], table: Any, given: Any) -> bool:
    """Tell whether a part of a location is the kind of a table that has a key called so, too.

    The location then goes on in the table, or it is the table, as it was `given`, that is wrong.
    """
    is_wrong = isinstance(given, dict) and given.get("kind") == part
    return is_wrong or (bool(rest) and rest[0] in table)


def _reason(details: ErrorDetails) -> tuple[str, list[str]]:
    """Return the reason in the user's words, and the valid values when they are a short list."""
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    if kind in ("literal_error", "union_tag_invalid"):
        valid = re.findall(r"'([^']*)'", context.get("expected") or context["expected_tags"])
        return f"must be one of {', '.join(valid)}, not {_quoted(context.get('tag', value))}", valid
    if kind in ("missing", "union_tag_not_found"):
        return "is required", []
    if kind == "value_error":
        return shown(str(context["error"]), _LONGEST_REASON), []
    if kind in _LENGTHS:
        return _wrong_length(kind, context, value), []
    if kind in _TYPE_NAMES:
        what = _TYPE_NAMES[kind].format(**context)
        return f"must be {what}, not {_quoted(value)}", []
    # Of numbers out of bounds; of anything else the beginning says what should.
    said = details["msg"].removeprefix("Input should ")
    return f"should {said}, not {_quoted(value)}", []


def _wrong_length(kind: str, context: Mapping[str, Any], value: Any) -> str:
    key, counted = _LENGTHS[kind]
    bound = context[key]
    if bound == 1 and key == "min_length":
        return "must not be empty"
    most = "at least" if key == "min_length" else "at most"
    return f"must have {most} {bound} {counted}, not {len(value)}"


def _quoted(value: object) -> str:
    return shown(repr(value))


_TYPE_NAMES = {
    "int_type": "a whole number",
    "float_type": "a plain number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_pattern_mismatch": "text that matches {pattern}",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "date_from_datetime_inexact": "a date such as 2025-06-22",
    "date_type": "a date such as 2025-06-22",
    "date_parsing": "a date such as 2025-06-22",
    "date_from_datetime_parsing": "a date such as 2025-06-22",
}

_LENGTHS = {
    "too_short": ("min_length", "items"),
    "too_long": ("max_length", "items"),
    "string_too_short": ("min_length", "characters"),
    "string_too_long": ("max_length", "characters"),
}

_LARGEST_FACTOR = 1e6  # from a nanosecond to a millisecond, and no cost becomes infinite
_LONGEST_REASON = 400  # our own words with what they quote
_NOTHING = object()
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _schema(dimension: units.Dimension) -> dict[str, Any]:
    return {
        "type": "string",
        "title": dimension.name,
        "pattern": dimension.pattern,
        "examples": [dimension.example],
    }


def _more_than_zero(parse: Callable[[object], Number]) -> Callable[[object], Number]:
    def positive(value: object) -> Number:
        number = parse(value)
        if number == 0:
            raise ValueError("must be more than zero")
        return number

    return positive


def _whole_bytes(value: object) -> int:
    number = units.SIZE.parse(value)
    if number != int(number):
        raise ValueError(f"{value!r} is not a whole number of bytes")
    return int(number)


def _whole_cents(value: object) -> int:
    number = units.MONEY.parse(value)
    if number != int(number):
        raise ValueError(f"{value!r} is not a whole number of cents")
    return int(number)


def _seconds(value: object) -> float:
    if isinstance(value, str) and _DATE.match(value):
        with contextlib.suppress(ValueError):
            value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        return units.MOMENT.parse(value)
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} is in no time zone; end it with Z or +01:00")
    return units.MOMENT.parse(f"{value.timestamp():.6f}s")


def _seconds_or_first(value: object) -> float | str:
    return FIRST if value == FIRST else _seconds(value)


def _factor_or_duration(value: object) -> units.Quantity:
    if isinstance(value, str):
        return units.Quantity(_more_than_zero(units.DURATION.parse)(value), units.DURATION)
    if isinstance(value, bool) or not isinstance(value, int | float):
        example = units.DURATION.example
        reason = f"must be a factor such as 2 or a duration such as {example!r}, not {value!r}"
        raise ValueError(reason)  # noqa: TRY004 - pydantic lets a TypeError through
    if not 0 < value <= _LARGEST_FACTOR:
        raise ValueError(f"a factor is more than 0 and at most {_LARGEST_FACTOR:g}, not {value!r}")
    return units.Quantity(float(value), None)


def written(value: object) -> Any:
    """Return a default as it would be written in the document; validation turns it into SI."""
    return value


def one_or_list(value: object) -> object:
    """Return a list as it is and anything else as a list of one value."""
    if isinstance(value, list) and not value:
        raise ValueError("an empty list leaves nothing to run")
    return value if isinstance(value, list) else [value]


def list_schema(item: dict[str, Any]) -> WithJsonSchema:
    """Return the schema of one `item` or a list of them, as `one_or_list` takes it."""
    return WithJsonSchema({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]})


# The dimension beside the parser tells whoever reads a model what its fields are in.
Duration = Annotated[
    float,
    BeforeValidator(units.DURATION.parse),
    WithJsonSchema(_schema(units.DURATION)),
    units.DURATION,
]
FIRST = "first"
Origin = Annotated[
    float | Literal["first"],
    BeforeValidator(_seconds_or_first),
    WithJsonSchema(
        {
            "anyOf": [
                _schema(units.MOMENT),
                {"type": "string", "format": "date-time"},
                {"const": FIRST},
            ]
        }
    ),
    units.MOMENT,
]
"""Seconds on the clock of a file, of a date and time since 1970-01-01T00:00:00Z; or `FIRST`, for
the earliest time in the file."""
PositiveDuration = Annotated[
    float,
    BeforeValidator(_more_than_zero(units.DURATION.parse)),
    WithJsonSchema(_schema(units.DURATION)),
    units.DURATION,
]
FactorOrDuration = Annotated[
    units.Quantity,
    PlainValidator(_factor_or_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": _LARGEST_FACTOR},
                _schema(units.DURATION),
            ]
        }
    ),
]
"""What something is multiplied by, or how long it takes instead."""
Size = Annotated[
    int, BeforeValidator(_whole_bytes), WithJsonSchema(_schema(units.SIZE)), units.SIZE
]
Bandwidth = Annotated[
    float,
    BeforeValidator(_more_than_zero(units.BANDWIDTH.parse)),
    WithJsonSchema(_schema(units.BANDWIDTH)),
    units.BANDWIDTH,
]
Rate = Annotated[
    float, BeforeValidator(units.RATE.parse), WithJsonSchema(_schema(units.RATE)), units.RATE
]
PositiveRate = Annotated[
    float,
    BeforeValidator(_more_than_zero(units.RATE.parse)),
    WithJsonSchema(_schema(units.RATE)),
    units.RATE,
]
Power = Annotated[
    float, BeforeValidator(units.POWER.parse), WithJsonSchema(_schema(units.POWER)), units.POWER
]
Energy = Annotated[
    float, BeforeValidator(units.ENERGY.parse), WithJsonSchema(_schema(units.ENERGY)), units.ENERGY
]
Cents = Annotated[
    int, BeforeValidator(_whole_cents), WithJsonSchema(_schema(units.MONEY)), units.MONEY
]
PositiveCents = Annotated[
    int,
    BeforeValidator(_more_than_zero(_whole_cents)),
    WithJsonSchema(_schema(units.MONEY)),
    units.MONEY,
]
Rates = Annotated[
    list[PositiveRate], BeforeValidator(one_or_list), list_schema(_schema(units.RATE))
]
Sizes = Annotated[list[Size], BeforeValidator(one_or_list), list_schema(_schema(units.SIZE))]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Counts = Annotated[
    list[Count],
    BeforeValidator(one_or_list),
    list_schema({"type": "integer", "minimum": 1, "maximum": 1_000_000}),
]
Blocks = Annotated[Count, units.BLOCKS]
BlockCounts = Annotated[Counts, units.BLOCKS]
Flags = Annotated[list[bool], BeforeValidator(one_or_list), list_schema({"type": "boolean"})]
