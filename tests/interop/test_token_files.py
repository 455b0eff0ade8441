"""Which files the commands of `probe tokens` write is what `validate host` prices."""

import os

import pytest

from pocketsim.calibration.host.tokens import design, measuring
from pocketsim.calibration.host.tokens.design import MEMORY, Batch

TOKENS = 100
COMMANDS = (
    *(design.REFUSE, design.REQUEST, design.MINT, design.TAKE, design.REQUEST),
    *(one for name, several in design.OPERATIONS.items() if name != "mint" for one in several),
)
FIXED_BYTES = 512  # keys, counts and a signature: what a file has but for its tokens


def files(folder):
    """Return inode and size of every file that commands may write, by its path."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in {"lock", "garbage"}:
            told = path.stat()
            found[path] = (told.st_ino, told.st_size)
    return found


@pytest.fixture
def seen(probe, tmp_path, monkeypatch):
    """Return the files before and after each command of a batch."""
    found, run = [], measuring._run

    def watched(program, core, name, words, folder, code=0):
        before = files(tmp_path)
        said = run(program, core, name, words, folder, code)
        if name.startswith("tokens ") and "new-" not in name:
            found.append((before, files(tmp_path)))
        return said

    monkeypatch.setattr(measuring, "_run", watched)
    batch = Batch(TOKENS, MEMORY)
    core = min(os.sched_getaffinity(0))
    measuring._Round(probe, core, batch, tmp_path).costs()
    return found


def near(sizes, command, each):
    """Tell whether files are as long as a command's of so many tokens, with a head."""
    times = 1 if command in design.IDLE else TOKENS
    room = 0 if command in design.IDLE else FIXED_BYTES
    expected = sorted(times * size for size in each)
    return len(sizes) == len(expected) and all(
        want <= size <= want + room for size, want in zip(sorted(sizes), expected, strict=True)
    )


def test_each_command_writes_the_files_that_are_priced(seen):
    assert len(seen) == len(COMMANDS)
    for command, (before, after) in zip(COMMANDS, seen, strict=True):
        created = [size for path, (_, size) in after.items() if path not in before]
        kept = [(before[path], after[path]) for path in before]
        replaced = [size for (was, _), (inode, size) in kept if was != inode]
        grown = sum(size - old for (was, old), (inode, size) in kept if was == inode)
        assert near(created, command, command.created), (command.name, created)
        assert near(replaced, command, command.replaced), (command.name, replaced)
        assert near([grown], command, (command.appended,)), (command.name, grown)
