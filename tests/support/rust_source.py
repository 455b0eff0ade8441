"""Rust as a tidy test reads it: without comments and literals, functions, and what is named where.

It matches braces and knows what may hide one: strings, raw strings, characters beside lifetimes,
comments that nest. It is no parser: macros are read as they stand, types are not resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

CLOSERS = {"{": "}", "(": ")", "[": "]"}

# The first that matches counts. A lifetime is an apostrophe that is no character's.
TOKEN = re.compile(
    r"""
      (?P<line>//[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>\b(?:br|cr|r)(?P<hashes>\#*)")
    | (?P<string>\b[bc]?"|")
    | (?P<char>(?:\bb)?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^\\'\n])')
    """,
    re.VERBOSE | re.DOTALL,
)
STRING_END = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
BLOCK_MARK = re.compile(r"/\*|\*/")


def bare(text: str) -> str:
    """Return the text with comments blank and literals as underscores, each line where it was."""
    parts: list[str] = []
    at = 0
    while match := TOKEN.search(text, at):
        end = token_end(text, match)
        filler = " " if match["line"] or match["block"] else "_"
        parts += [text[at : match.start()], re.sub(r"\S", filler, text[match.start() : end])]
        at = end
    return "".join([*parts, text[at:]])


def token_end(text: str, match: re.Match[str]) -> int:
    if match["raw"]:
        closing = '"' + match["hashes"]
        return text.index(closing, match.end()) + len(closing)
    if match["string"]:
        closed = STRING_END.match(text, match.end())
        assert closed, "a string without an end"
        return closed.end()
    if match["block"]:
        depth = 0
        for mark in BLOCK_MARK.finditer(text, match.start()):
            depth += 1 if mark[0] == "/*" else -1
            if depth == 0:
                return mark.end()
    return match.end()


def closing(code: str, at: int) -> int:
    """Return where the bracket at `at` of bare code closes."""
    opener, closer = code[at], CLOSERS[code[at]]
    depth = 0
    for place in range(at, len(code)):
        depth += (code[place] == opener) - (code[place] == closer)
        if depth == 0:
            return place
    raise AssertionError("a bracket without an end")


def without_tests(code: str) -> str:
    """Return bare code whose `#[cfg(test)]` modules are blank."""
    for match in reversed([*re.finditer(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{", code)]):
        end = closing(code, match.end() - 1) + 1
        blank = re.sub(r"\S", " ", code[match.start() : end])
        code = code[: match.start()] + blank + code[end:]
    return code


@dataclass(frozen=True)
class Function:
    """A function with a body; its code lines count those of the functions within."""

    name: str
    line: int
    code_lines: int


def functions(code: str) -> Iterator[Function]:
    """Yield the functions of bare code, in order of their heads."""
    for match in re.finditer(r"\bfn\s+(\w+)", code):
        start = body(code, match.end())
        if start is not None:
            lines = code[start + 1 : closing(code, start)].splitlines()
            number = code.count("\n", 0, match.start()) + 1
            yield Function(match[1], number, sum(bool(line.strip()) for line in lines))


def body(code: str, at: int) -> int | None:
    """Return where the body opens of the function whose name ends at `at`; nothing of a promise."""
    generics = 0
    while at < len(code):
        if code[at] in "([" or (code[at] == "{" and generics):
            at = closing(code, at)
        elif code[at] == "{":
            return at
        elif code[at] == ";":
            return None
        generics += (code[at] == "<") - (code[at] == ">" and code[at - 1] != "-")
        at += 1
    return None


def modules_named(code: str, module: tuple[str, ...], crate: set[str]) -> set[str]:
    """Return the modules below the root of a crate that bare code of `module` names by path.

    What is named without `crate::` or `super::` lies in the module itself, or in another crate.
    """
    found: set[str] = set()
    for match in re.finditer(r"(?<![\w:])(?:\$?crate\s*::|((?:super\s*::\s*)+))\s*", code):
        ups = match[1].count("super") if match[1] else None
        if ups is None or ups == len(module) + inline_depth(code, match.start()):
            found |= set(first_names(code[match.end() :]))
    return found & crate


def inline_depth(code: str, at: int) -> int:
    """Return how many modules of the file itself enclose a place."""
    heads = re.finditer(r"\bmod\s+\w+\s*\{", code[:at])
    return sum(closing(code, head.end() - 1) > at for head in heads)


def first_names(code: str) -> Iterator[str]:
    """Yield the first name of each path that code starts with: one, or those of a group."""
    if not code.startswith("{"):
        yield "".join(takewhile(lambda sign: sign.isalnum() or sign == "_", code))
        return
    depth = 0
    for token in re.finditer(r"[{},]|\w+", code[: closing(code, 0)]):
        depth += (token[0] == "{") - (token[0] == "}")
        before = code[: token.start()].rstrip()
        if depth == 1 and token[0] not in "{}," and before.endswith(("{", ",")):
            yield token[0]
