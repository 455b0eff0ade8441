"""Documents: one way to check scenarios, profiles and sweeps (TOML) and reports (JSON).

A document is a pydantic model that forbids unknown keys. Whatever is wrong with it (unknown key,
wrong value) becomes one `ScenarioError` with file, key path and reason in the user's words. This
module knows no particular document; how bytes become data is the business of `sim.base.files`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError, core_schema

from pocketsim.sim.base import files, units
from pocketsim.sim.base.errors import ScenarioError, did_you_mean, nearest, shown

if TYPE_CHECKING:
    from pathlib import Path

Model = TypeVar("Model", bound=BaseModel)
Number = TypeVar("Number", int, float)
Item = TypeVar("Item")

# Whoever checks a document has read it.
key_path, read_json, read_toml = files.key_path, files.read_json, files.read_toml


class Section(BaseModel):
    """A table of a document: immutable, strict about types, closed to unknown keys."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, validate_default=True, defer_build=True
    )

    is_one_number: ClassVar[bool] = False
    """Whether the section is a number with its uncertainty: one unit holds for all of it."""

    absent_when_none: ClassVar[frozenset[str]] = frozenset()
    """Fields that plain values are without where the document is: runs made before they were known
    keep their digests."""

    @classmethod
    def optional(cls) -> frozenset[str]:
        """Return the fields that are None where a document leaves them out."""
        return frozenset(name for name, field in cls.model_fields.items() if field.default is None)

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
        meant = did_you_mean(_as_number(value)) if kind == "float_type" else ""
        return f"must be {what}, not {_quoted(value)}{meant}", []
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


def _as_number(value: object) -> str | None:
    """Return the number that a text holds, as it is to be written: "1%" is 0.01."""
    found = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    number, is_percent = float(found[1]), bool(found[2])
    return f"{number / 100 if is_percent else number:.12g}"


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
_NUMBER = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)\s*(%?)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _schema(dimension: units.Dimension) -> dict[str, Any]:
    return {
        "type": "string",
        "title": dimension.name,
        "pattern": dimension.pattern,
        "examples": [dimension.example],
    }


def _read(dimension: units.Dimension, *, whole: bool = False) -> tuple[Any, ...]:
    """Return what makes a number a quantity: its parser, its schema, and for models' readers it."""

    def parse_whole(value: object) -> int:
        number = dimension.parse(value)
        if number != int(number):
            raise ValueError(f"{value!r} is not a whole number of {dimension.si}")
        return int(number)

    parse = parse_whole if whole else dimension.parse
    return BeforeValidator(parse), WithJsonSchema(_schema(dimension)), dimension


def _positive(number: Number) -> Number:
    if number == 0:
        raise ValueError("must be more than zero")
    return number


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
    return units.FIRST if value == units.FIRST else _seconds(value)


def origin_s(value: object) -> float | str:
    """Return seconds, or "first", of what an `Origin` may be; raises ValueError for others."""
    return _seconds_or_first(value)


def _factor_or_duration(value: object) -> units.Quantity:
    if isinstance(value, str):
        return units.Quantity(_positive(units.DURATION.parse(value)), units.DURATION)
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


class _OneOrList:
    """Makes anything but a list a list of one value."""

    def __get_pydantic_core_schema__(self, kind: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_before_validator_function(_listed, handler(kind))

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> Any:
        several = handler(schema)
        return {"anyOf": [several["items"], {**several, "minItems": 1}]}


def _listed(value: object) -> object:
    if isinstance(value, list) and not value:
        raise ValueError("an empty list leaves nothing to run")
    return value if isinstance(value, list) else [value]


_MORE_THAN_ZERO = AfterValidator(_positive)
Duration = Annotated[float, *_read(units.DURATION)]
PositiveDuration = Annotated[Duration, _MORE_THAN_ZERO]
Origin = Annotated[
    float | Literal["first"],
    BeforeValidator(_seconds_or_first),
    WithJsonSchema(
        {
            "anyOf": [
                _schema(units.MOMENT),
                {"type": "string", "format": "date-time"},
                {"const": units.FIRST},
            ]
        }
    ),
    units.MOMENT,
]
"""Seconds on the clock of a file, of a date and time since 1970-01-01T00:00:00Z; or `units.FIRST`,
for the earliest time in the file."""
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
Size = Annotated[int, *_read(units.SIZE, whole=True)]
Bandwidth = Annotated[float, *_read(units.BANDWIDTH), _MORE_THAN_ZERO]
Rate = Annotated[float, *_read(units.RATE)]
PositiveRate = Annotated[Rate, _MORE_THAN_ZERO]
Power = Annotated[float, *_read(units.POWER)]
Energy = Annotated[float, *_read(units.ENERGY)]
PositiveLength = Annotated[float, *_read(units.LENGTH), _MORE_THAN_ZERO]
Speed = Annotated[float, *_read(units.SPEED)]
PositiveSpeed = Annotated[Speed, _MORE_THAN_ZERO]
Cents = Annotated[int, *_read(units.MONEY, whole=True)]
PositiveCents = Annotated[Cents, _MORE_THAN_ZERO]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Blocks = Annotated[Count, units.BLOCKS]
OneOrMore = Annotated[list[Item], _OneOrList()]
"""One item, or a list of them: a list makes several runs."""
