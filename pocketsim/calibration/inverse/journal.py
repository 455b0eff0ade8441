"""What was made already: lines of JSON, each under a digest of all that it was made from.

An interrupted command finds them and goes on. A line that was cut, or that another version wrote,
is as if it were not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.files import open_plain

if TYPE_CHECKING:
    from pathlib import Path


class Journal:
    """Values of one build, one set of documents and options; a file that only grows."""

    def __init__(self, path: Path, made_with: str) -> None:
        self._path, self._made_with = path, made_with
        self._kept: dict[str, Any] = {}
        for line in path.read_bytes().splitlines() if path.is_file() else []:
            with contextlib.suppress(ValueError, LookupError, TypeError):
                kept = json.loads(line)
                self._kept[kept["made_from"]] = kept["value"]

    def kept(self, made_from: str) -> Any:
        """Return the value that was made from this, None where none was."""
        return self._kept.get(self._name(made_from))

    def keep(self, made_from: str, value: Any) -> None:
        """Keep a value, which JSON can hold."""
        name = self._name(made_from)
        self._kept[name] = value
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_plain(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            # What was cut before ends here.
            file.write("\n" + json.dumps({"made_from": name, "value": value}))

    def _name(self, made_from: str) -> str:
        return hashlib.sha256(f"{self._made_with} {made_from}".encode()).hexdigest()
