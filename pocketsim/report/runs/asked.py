"""What an author may say of a report: its question, and what its first chart shows."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Asked:
    """The question and the choices of an author; what is empty is chosen by rule.

    `x` and `by` are key paths of the scenario: the horizontal axis, and what has a colour for each
    value. `axes` are those of the study in the order in which it names them: among quantities with
    as many steps the first one is the horizontal axis. `file` is the sweep that says all this.
    """

    question: str = ""
    x: str = ""
    by: str = ""
    metric: str = ""
    axes: tuple[str, ...] = ()
    file: str = ""
    options: frozenset[str] = frozenset()

    def with_options(self, **said: str) -> Asked:
        """Return this with those of `metric`, `x` and `by` that options say."""
        given = {key: value for key, value in said.items() if value}
        return replace(self, **given, options=frozenset(given))  # type: ignore[arg-type]

    def place(self, key: str) -> str:
        """Return where a choice was said, for errors: "sweep.toml: report.x", "--x", "x"."""
        if key in self.options:
            return f"--{key}"
        return f"{self.file}: report.{key}" if self.file else key


BY_RULE = Asked()
"""Nothing is asked for."""
