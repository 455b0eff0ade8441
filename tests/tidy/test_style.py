"""Style rules that a machine can check: lengths, names, ambient time and chance, paths, links."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.rust_source import bare, without_tests
from support.rust_source import functions as rust_functions

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60
FUNCTION_LINES_P95 = 30
ARCHITECTURE_WORDS_MAX = 1_650  # three pages

PACKAGES = ("pocketsim",)
SOURCES = {".py", ".rs", ".cpp", ".hpp"}

# Time and chance are arguments: from the plan, or from a stream that the seed names.
AMBIENT = {
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "os.urandom",
    "time.monotonic",
    "time.perf_counter",
    "time.process_time",
    "time.thread_time",
    "time.time",
    "time.time_ns",
    "uuid.uuid1",
    "uuid.uuid4",
}
MEASURES = "pocketsim/calibration/fit/this_machine/clock.py"  # a machine: its times are the result
FOR_PEOPLE = {  # who wait, and want to know how long
    "pocketsim/api/progress.py",
    "pocketsim/sim/run/durations.py",
}
AMBIENT_MODULES = {"random", "secrets"}
TAKES_A_SEED = "random.Random"  # and is ambient without one
# Of numpy.random, only what takes its seed explicitly.
SEEDED = {"BitGenerator", "Generator", "Philox", "SeedSequence"}

RUST_PROTOCOLS_NEVER_SAY = re.compile(
    r"std::(time|net|fs|thread|env|process)\b|\bSystemTime\b|\bInstant\b|\brand::|\bpyo3\b"
    # The iteration order of these differs from process to process.
    r"|\bHash(Map|Set)\b",
)

# What somebody wrote to look at a value once; only commands, examples and builds print.
RUST_PRINTS = re.compile(r"\b(?:e?print(?:ln)?|dbg)!")
RUST_THAT_PRINTS = ("device_probe/cli", "device_probe/core/examples")

# A path of somebody's machine, or the address of a package index.
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(home|root|work|Users|opt|mnt)/\w")
REGISTRY = re.compile(
    r"\b(pypi\.org|pythonhosted\.org|crates\.io|registry\.npmjs|deb\.debian\.org)"
)
LOCKS = {"uv.lock", "Cargo.lock"}


def code_lines(text: str) -> int:
    """Count lines that are neither empty nor a comment."""
    lines = (line.strip() for line in text.splitlines())
    return sum(bool(line) and not line.startswith(("#", "//")) for line in lines)


def python_files(repository: list[Path], root: Path, *folders: str) -> list[Path]:
    return [
        path
        for path in repository
        if path.suffix == ".py" and path.relative_to(root).parts[0] in folders
    ]


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each function of a file with its code lines, without its docstring."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[ast.get_docstring(node) is not None :]
            if body:
                lines = text.splitlines()[body[0].lineno - 1 : body[-1].end_lineno]
                yield f"{path.name}:{node.lineno} {node.name}", code_lines("\n".join(lines))


def test_files_are_short(repository: list[Path], root: Path) -> None:
    sources = [path for path in repository if path.suffix in SOURCES]
    long = {
        str(path.relative_to(root)): lines
        for path in sources
        if (lines := code_lines(path.read_text())) > FILE_LINES_MAX
    }
    assert not long


def test_functions_are_short(repository: list[Path], root: Path) -> None:
    lengths = dict(
        item
        for path in python_files(repository, root, *PACKAGES, "tools", "bench")
        for item in functions(path)
    )
    assert_short(lengths)


def test_rust_functions_are_short(repository: list[Path], root: Path) -> None:
    lengths = {
        f"{path.relative_to(root)}:{function.line} {function.name}": function.code_lines
        for path in repository
        if path.suffix == ".rs" and "tests" not in path.relative_to(root).parts
        for function in rust_functions(without_tests(bare(path.read_text())))
    }
    assert_short(lengths)


def assert_short(lengths: dict[str, int]) -> None:
    assert not {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX}
    assert sorted(lengths.values())[int(0.95 * len(lengths))] <= FUNCTION_LINES_P95


@pytest.mark.parametrize(
    "lengths", [{"long": 61} | dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 1), {"rather_long": 31}]
)
def test_the_rule_on_lengths_bites(lengths: dict[str, int]) -> None:
    with pytest.raises(AssertionError):
        assert_short(lengths)


def variables(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield every variable that is bound, parameters among them, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def test_no_variable_is_called_of(repository: list[Path], root: Path) -> None:
    """A preposition says nothing: `of.mean(x) for of in found` hides whether it is a run or a row.

    Functions may be: `fates.of(part, messages)` reads as what it returns.
    """
    found = [
        f"{path.relative_to(root)}:{line}"
        for path in repository
        if path.suffix == ".py"
        for name, line in variables(ast.parse(path.read_text()))
        if name == "of"
    ]
    assert not found, "name it after what it is: phone, network, row"


@pytest.mark.parametrize(
    "source",
    [
        "of = 1",
        "for of in []: pass",
        "[1 for of in []]",
        "def name(of): pass",
        "def name(*, of=1): pass",
        "lambda of: 1",
        "with open(1) as of: pass",
        "if (of := 1): pass",
    ],
)
def test_the_rule_on_variables_bites(source: str) -> None:
    assert "of" in dict(variables(ast.parse(source)))


def test_the_rule_on_variables_spares_functions() -> None:
    assert "of" not in dict(variables(ast.parse("def of(part): pass\nfates.of(1)")))


def ambient_uses(tree: ast.AST) -> Iterator[str]:
    """Yield names that reach for the clock or for chance outside the run's streams."""
    full_names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            full_names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            full_names |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    ambient = {name for name in full_names.values() if name.split(".")[0] in AMBIENT_MODULES}
    yield from ambient - {TAKES_A_SEED}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not node.args:
            called = ast.unparse(node.func)
            yield from [TAKES_A_SEED] * (full_names.get(called) == TAKES_A_SEED)
        if isinstance(node, ast.Name | ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            name = f"{full_names.get(first, first)}.{rest}".rstrip(".")
            legacy = name.startswith("numpy.random.") and name.split(".")[2] not in SEEDED
            if name in AMBIENT or legacy:
                yield name


def test_time_and_chance_are_arguments(repository: list[Path], root: Path) -> None:
    uses = {
        f"{path.relative_to(root)}: {name}"
        for path in python_files(repository, root, *PACKAGES)
        if path.relative_to(root).as_posix() not in {*FOR_PEOPLE, MEASURES}
        if path.relative_to(root).parts[:2] != ("pocketsim", "cli")
        for name in ambient_uses(ast.parse(path.read_text()))
    }
    assert not sorted(uses)


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import choice",
        "from random import Random\nRandom()",
        "import time\ntime.time()",
        "import time\ntime.perf_counter()",
        "from time import monotonic\nmonotonic()",
        "from datetime import datetime\ndatetime.now()",
        "import datetime as d\nd.date.today()",
        "import numpy as np\nnp.random.normal()",
        "import numpy as np\nnp.random.default_rng()",
    ],
)
def test_the_rule_on_time_and_chance_bites(source: str) -> None:
    assert list(ambient_uses(ast.parse(source)))


def test_the_rule_on_chance_spares_what_takes_a_seed() -> None:
    assert not list(ambient_uses(ast.parse("from random import Random\nRandom(seed)")))


def test_no_loop_over_a_set(repository: list[Path], root: Path) -> None:
    loops = []
    for path in python_files(repository, root, *PACKAGES):
        for node in ast.walk(ast.parse(path.read_text())):
            iterated = node.iter if isinstance(node, ast.For | ast.comprehension) else None
            called = isinstance(iterated, ast.Call) and ast.unparse(iterated.func)
            if isinstance(iterated, ast.Set | ast.SetComp) or called in {"set", "frozenset"}:
                loops.append(f"{path.relative_to(root)}: {ast.unparse(iterated)}")
    assert not loops, "the order of a set differs from process to process: sort it"


def test_rust_protocols_know_no_world(repository: list[Path], root: Path) -> None:
    folder = root / "sim/protocols/src"
    found = [
        f"{path.relative_to(root)}: {match[0]}"
        for path in repository
        if folder in path.parents and path.suffix == ".rs"
        for line in path.read_text().splitlines()
        if not line.strip().startswith("//")
        for match in RUST_PROTOCOLS_NEVER_SAY.finditer(line)
    ]
    assert not found


def rust_prints(text: str) -> list[str]:
    return [match[0] for match in RUST_PRINTS.finditer(bare(text))]


def test_rust_prints_in_commands_only(repository: list[Path], root: Path) -> None:
    found = [
        f"{name}: {call}"
        for path in repository
        if path.suffix == ".rs"
        and path.name != "build.rs"
        and not (name := path.relative_to(root).as_posix()).startswith(RUST_THAT_PRINTS)
        for call in rust_prints(path.read_text())
    ]
    assert not found


@pytest.mark.parametrize("call", ['eprintln!("{x}");', 'print!("{x}")', "dbg!(x);"])
def test_the_rule_on_prints_bites(call: str) -> None:
    assert rust_prints(f"fn f() {{ {call} }}")


def test_the_rule_on_prints_spares_comments_and_texts() -> None:
    assert not rust_prints('// println!()\nlet text = "dbg!(x)"; writeln!(out, "x")')


def test_no_machine_paths_and_no_registry_hosts(repository: list[Path], root: Path) -> None:
    found = []
    for path in repository:
        if path.name in LOCKS or path == Path(__file__):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for pattern in (MACHINE_PATH, REGISTRY):
            found += [f"{path.relative_to(root)}: {match[0]}" for match in pattern.finditer(text)]
    assert not found


def test_links_in_documents_lead_somewhere(repository: list[Path], root: Path) -> None:
    broken = [
        f"{path.relative_to(root)}: {target}"
        for path in repository
        if path.suffix == ".md"
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text())
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert not broken


def test_the_architecture_fits_on_three_pages(root: Path) -> None:
    words = len((root / "ARCHITECTURE.md").read_text().split())
    assert words <= ARCHITECTURE_WORDS_MAX
