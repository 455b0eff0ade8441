"""What the build of the engine tells: crates, and the time that is left."""

from __future__ import annotations

import sys
import threading

import pytest

from tools import engine
from tools.engine import CRATES, ENGINE, ENGINE_SHARE, Build


def compiled(build, count, now_s, name="other"):
    for _ in range(count):
        build.take(f"   Compiling {name} v1.2.3", now_s)


def test_nothing_is_estimated_from_a_few_crates():
    build = Build(100.0)
    compiled(build, 3, 101.0)
    assert build.line(102.0) == f"engine: 3 of {CRATES} crates in 2 s"


def test_what_is_left_holds_the_engine_itself():
    build = Build(0.0)
    compiled(build, CRATES - 1, 20.0)
    compiled(build, 1, 20.0, ENGINE)
    left_s = 20.0 * ENGINE_SHARE / (1 - ENGINE_SHARE)
    assert build.line(20.0).endswith(f"some {left_s:.0f} s left")
    assert build.line(20.0 + left_s / 2).endswith(f"some {left_s / 2:.0f} s left")
    assert build.line(21.0 + left_s).endswith(" s"), "longer than thought: no time is left to tell"


def test_other_lines_are_kept_for_errors():
    build = Build(0.0)
    build.take("error: linking failed", 1.0)
    assert build.crates == 0
    assert list(build.said) == ["error: linking failed"]


def test_what_tells_ends_with_a_build_that_cannot_begin(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(FileNotFoundError, match="maturin"):
        engine.main()
    assert not [one for one in threading.enumerate() if one.name.endswith("(_tell)")]
