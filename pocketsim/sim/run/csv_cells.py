"""Cells of a CSV that a spreadsheet shows as text and does not compute.

Spreadsheets take a cell that begins with one of a few characters for a formula, which may read
files and send their contents. As OWASP advises for CSV, such text gets an apostrophe in front.
"""

from __future__ import annotations

import re


def cell(text: str) -> str:
    """Return text that no spreadsheet takes for a formula; what is a number stays as it is."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


_FORMULA = re.compile(r"\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|nan)")
