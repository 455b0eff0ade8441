"""Reading documents: one way for scenarios, profiles and sweeps (TOML) and reports (JSON).

A document is a pydantic model that forbids unknown keys. Whatever is wrong with it (no file, bad
syntax, unknown key, wrong value) becomes one `ScenarioError` with file, key path and reason. This
module knows no particular document.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from sim import units
from sim.errors import ScenarioError, nearest

if TYPE_CHECKING:
    from pathlib import Path

Model = TypeVar("Model", bound=BaseModel)
Number = TypeVar("Number", int, float)


class Section(BaseModel):
    """A table of a document: immutable, strict about types, closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)

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


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of the file at `path` and the table it holds.

    Raises ScenarioError when it cannot be read, is not UTF-8 or is not TOML (with the line).
    """
    text = _read_text(path)
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).partition(" (at ")
        raise ScenarioError(
            path, place.rstrip(")"), f"not TOML: {reason[:1].lower()}{reason[1:]}"
        ) from None


def read_json(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of the file at `path` and the object it holds.

    Raises ScenarioError when it cannot be read, is not UTF-8 or is not a JSON object.
    """
    text = _read_text(path)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise ScenarioError(path, f"line {error.lineno}, column {error.colno}", reason) from None
    except RecursionError:
        raise ScenarioError(path, "", "not a document: nested too deeply") from None
    if not isinstance(data, dict):
        raise ScenarioError(path, "", "not a JSON object")
    return text, data


def validate(model: type[Model], data: Mapping[str, Any], file: str | Path) -> Model:
    """Return `data` as `model`, or raise ScenarioError for the first thing wrong with it."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = min(error.errors(), key=lambda item: item["type"] != "unknown_key")
        raise _translate(details, data, file) from None


def key_path(parts: Sequence[str | int]) -> str:
    """Return parts as they are written in messages and on the command line: devices[0].profile."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            raise ScenarioError(path, "", str(error.strerror).lower()) from None
        raise ScenarioError(path, "", "no such file", _nearest_file(path)) from None
    except UnicodeDecodeError as error:
        raise ScenarioError(path, "", f"not UTF-8 text (byte {error.start})") from None


def _nearest_file(path: Path) -> str | None:
    if not path.parent.is_dir():
        return None
    found = nearest(path.name, sorted(item.name for item in path.parent.iterdir()))
    return str(path.parent / found) if found else None


def _translate(details: ErrorDetails, data: Mapping[str, Any], file: str | Path) -> ScenarioError:
    context = details.get("ctx", {})
    kind = details["type"]
    parts = _document_path(details["loc"], data, missing=kind == "missing")
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


def _document_path(loc: Sequence[str | int], data: Any, *, missing: bool) -> list[str | int]:
    """Drop from a pydantic location what is not in the document: union tags, items of a scalar."""
    parts: list[str | int] = []
    for number, part in enumerate(loc):
        last = number == len(loc) - 1
        try:
            inside = data[part] if type(data) in (dict, list) else _NOTHING
        except (LookupError, TypeError):
            inside = _NOTHING
        if inside is not _NOTHING or (last and missing):
            parts.append(part)
        # What is not there is a union's tag: the next part is looked up in the same table.
        data = data if inside is _NOTHING else inside
    return parts


def _reason(details: ErrorDetails) -> tuple[str, list[str]]:
    """Return the reason in the user's words, and the valid values when they are a short list."""
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    if kind in ("literal_error", "union_tag_invalid"):
        valid = re.findall(r"'([^']*)'", context.get("expected") or context["expected_tags"])
        return f"must be one of {', '.join(valid)}, not {context.get('tag', value)!r}", valid
    if kind in ("missing", "union_tag_not_found"):
        return "is required", []
    if kind == "value_error":
        return str(context["error"]), []
    if kind in _TYPE_NAMES:
        return f"must be {_TYPE_NAMES[kind]}, not {value!r}", []
    said = details["msg"].removeprefix("Input should ")
    return f"should {said}, not {value!r}" if said != details["msg"] else said, []


_TYPE_NAMES = {
    "int_type": "a whole number",
    "float_type": "a plain number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "date_from_datetime_inexact": "a date such as 2025-06-22",
    "date_type": "a date such as 2025-06-22",
}

_NOTHING = object()


def _schema(dimension: units.Dimension) -> dict[str, Any]:
    suffixes = "|".join(dimension.suffixes)
    return {
        "type": "string",
        "title": dimension.name,
        "pattern": rf"^\s*\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*({suffixes})\s*$",
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


def written(value: object) -> Any:
    """Return a default as it would be written in the document; validation turns it into SI."""
    return value


def one_or_list(value: object) -> object:
    """Return a list as it is and anything else as a list of one: a ladder of one rung."""
    if isinstance(value, list) and not value:
        raise ValueError("an empty list leaves nothing to run")
    return value if isinstance(value, list) else [value]


def ladder_schema(item: dict[str, Any]) -> WithJsonSchema:
    """Return the schema of one `item` or a list of them, as `one_or_list` takes it."""
    return WithJsonSchema({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]})


# The dimension beside the parser tells whoever reads a model what its fields are in.
Duration = Annotated[
    float,
    BeforeValidator(units.DURATION.parse),
    WithJsonSchema(_schema(units.DURATION)),
    units.DURATION,
]
PositiveDuration = Annotated[
    float,
    BeforeValidator(_more_than_zero(units.DURATION.parse)),
    WithJsonSchema(_schema(units.DURATION)),
    units.DURATION,
]
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
    list[PositiveRate], BeforeValidator(one_or_list), ladder_schema(_schema(units.RATE))
]
Sizes = Annotated[list[Size], BeforeValidator(one_or_list), ladder_schema(_schema(units.SIZE))]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Counts = Annotated[
    list[Count],
    BeforeValidator(one_or_list),
    ladder_schema({"type": "integer", "minimum": 1, "maximum": 1_000_000}),
]
Flags = Annotated[list[bool], BeforeValidator(one_or_list), ladder_schema({"type": "boolean"})]
