"""JSON Schema of a document, and the scenario's reference page, generated from the models.

`python -m pocketsim.sim.scenario.schema` rewrites both of the scenario where they lie; a test fails
when they are stale. Schemas of other documents are `pocketsim.api.documents.schema`'s.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.scenario.document import Scenario

if TYPE_CHECKING:
    from pydantic import BaseModel

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
DOCS = SCHEMAS.parents[1] / "docs"


def schema_text(model: type[BaseModel] = Scenario) -> str:
    """Return the JSON Schema of a document, as it stands in schemas/scenario.schema.json."""
    return json.dumps(_schema(model), indent=1, ensure_ascii=False) + "\n"


def reference_text() -> str:
    """Return the page docs/scenario.md: every field with Required, Default and Type."""
    schema = _schema(Scenario)
    tables = {"": schema, **schema["$defs"]}
    parts = [_PREFACE, *(_table(name, table) for name, table in tables.items())]
    return "\n".join(parts)


def write() -> None:
    """Write both files."""
    (SCHEMAS / "scenario.schema.json").write_text(schema_text(), encoding="utf-8")
    (DOCS / "scenario.md").write_text(reference_text(), encoding="utf-8")


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    # The first line of a document, `#:schema ...`, tells editors where this file is.
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _table(name: str, table: dict[str, Any]) -> str:
    title = f"## {name}" if name else "## The document"
    lines = [title, "", table["description"], ""]
    lines += ["| key | required | default | type | meaning |", "|---|---|---|---|---|"]
    required = table.get("required", [])
    for key, field in table["properties"].items():
        default = json.dumps(field["default"]) if "default" in field else "-"
        cells = [key, "yes" if key in required else "no", default, _type(field)]
        lines.append("| " + " | ".join([*cells, field.get("description", "")]) + " |")
    return "\n".join([*lines, ""])


def _type(field: dict[str, Any]) -> str:
    """Return the type of a field in a few words."""
    union = field.get("anyOf") or field.get("oneOf")
    values = field.get("enum") or ([field["const"]] if "const" in field else None)
    if union or values:
        return " or ".join([*map(_type, union or []), *map(json.dumps, values or [])])
    if "$ref" in field:
        return str(field["$ref"].rsplit("/", 1)[-1])
    inner = field.get("items") or field.get("additionalProperties")
    if inner:
        return f"{'list' if field['type'] == 'array' else 'table'} of {_type(inner)}"
    if "examples" in field:
        return f"{field['title']} such as {json.dumps(field['examples'][0])}"
    return {"null": "absent"}.get(field["type"], str(field["type"]))


_PREFACE = """# Scenario reference

Generated from `pocketsim/sim/scenario` by `python -m pocketsim.sim.scenario.schema`. Durations, \
sizes, bandwidths, rates, sums of money, lengths and speeds are strings with a unit; only ratios, \
counts and sigmas are plain numbers. Unknown keys are refused.
"""

if __name__ == "__main__":
    write()
