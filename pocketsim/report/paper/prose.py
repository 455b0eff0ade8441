"""A text of words, names and citations, set in Markdown or in LaTeX; and the works it cites."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.calibration.validate import published

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any


@dataclass(frozen=True)
class Code:
    """A name that is set as it is typed."""

    text: str


@dataclass(frozen=True)
class Cite:
    """A work of `bibliography`, by its key."""

    key: str


Piece = str | Code | Cite


def markdown(pieces: Iterable[Piece]) -> str:
    """Return pieces as Markdown, with citations as Pandoc reads them."""
    return "".join(map(_markdown, pieces)).strip() + "\n"


def plain(text: str) -> str:
    """Return text of somebody else's as Markdown that shows it as it stands, in one paragraph."""
    one_line = " ".join(text.split())
    escaped = re.sub(r"[\\`*_\[\]<>#!|$~^&{}]", r"\\\g<0>", one_line)
    # What begins a list or underlines a title does so at the beginning alone.
    return re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", escaped)


def latex(pieces: Iterable[Piece]) -> str:
    r"""Return pieces as LaTeX in UTF-8, with `\cite`."""
    return "".join(map(_latex, pieces)).strip() + "\n"


def bibliography(pieces: Iterable[Piece], version: str) -> str:
    """Return the works that pieces cite, in BibTeX; `version` is this project's."""
    known = {**_works(), **_theses()}
    cited = dict.fromkeys(piece.key for piece in pieces if isinstance(piece, Cite))
    return "\n".join(known[key].replace("VERSION", version) for key in cited)


def joined(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: "one, two and three"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _markdown(piece: Piece) -> str:
    if isinstance(piece, Cite):
        return f" [@{piece.key}]"
    if isinstance(piece, Code):
        return f"`{piece.text}`"
    return re.sub(r"[\\`*_\[\]<>]", r"\\\g<0>", piece)


def _latex(piece: Piece) -> str:
    if isinstance(piece, Cite):
        return f"~\\cite{{{piece.key}}}"
    if isinstance(piece, Code):
        return f"\\texttt{{{_escaped(piece.text)}}}"
    return re.sub(r'"([^"]*)"', r"``\1''", _escaped(piece))


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _works() -> dict[str, str]:
    """Return the entries of references.bib by key."""
    text = (Path(__file__).parent / "references.bib").read_text(encoding="utf-8")
    return {entry[1]: entry[0] for entry in re.finditer(r"^@\w+\{(\w+),\n.*?^\}\n", text, _ENTRY)}


def _theses() -> dict[str, str]:
    """Return an entry for each document of published figures, by name."""
    return {name: _thesis(name, thesis) for name, thesis in published.documents().items()}


def _thesis(name: str, thesis: Mapping[str, Any]) -> str:
    year = [("year", str(thesis["published"].year))] if "published" in thesis else []
    fields = [("author", thesis["author"]), ("title", thesis["title"]), ("note", "Thesis"), *year]
    lines = "".join(f"  {key} = {{{_escaped(value)}}},\n" for key, value in fields)
    return f"@misc{{{name},\n{lines}}}\n"


_ENTRY = re.MULTILINE | re.DOTALL
_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # What pdfLaTeX has no letter for.
    "<": "$<$",
    ">": "$>$",
    "√": r"$\surd$",
    "\u00d7": r"$\times$",
    "\u00b5": r"$\mu$",
}
