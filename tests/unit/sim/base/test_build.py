"""Which build made a run: what changes it, and whose commit is recorded."""

import importlib.metadata
import subprocess

import numpy as np
import pytest
import scipy

from pocketsim.sim.base import build


def git(folder, *arguments):
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", "-C", folder, *named, *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a repository with one commit that has nothing of ours, and our package in it."""
    package = tmp_path / ".venv" / "sim"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (tmp_path / ".gitignore").write_text(".venv\n")
    git(tmp_path, "init")
    git(tmp_path, "add", ".gitignore")
    git(tmp_path, "commit", "-m", "theirs")
    monkeypatch.setattr(build, "_PACKAGE", package)
    asked_anew(monkeypatch)
    return tmp_path


def asked_anew(monkeypatch):
    """Ask git each time, as another process would."""
    monkeypatch.setattr(build, "git_commit", build.git_commit.__wrapped__)


def test_the_commit_is_not_that_of_a_repository_around_the_environment(repository):
    assert build.git_commit() is None


def test_the_commit_is_that_of_the_source_tree(repository):
    git(repository, "add", "-f", ".venv/sim/__init__.py")
    git(repository, "commit", "-m", "ours")
    commit = build.git_commit()
    assert len(commit) == 40
    (repository / ".venv" / "sim" / "__init__.py").write_text("changed")
    assert build.git_commit() == f"{commit}-dirty"


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    asked_anew(monkeypatch)
    assert build.git_commit() is None


def test_versions_are_of_all_that_can_change_a_run():
    assert build.versions() == {
        "pocketsim": importlib.metadata.version("pocketsim"),
        "build": build.build_digest(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    assert build.versions(simgrid=True) == {**build.versions(), "simgrid": "4.1"}


def test_a_library_that_is_missing_is_a_version_too(monkeypatch):
    monkeypatch.setattr(build, "LIBRARIES", ("no-such-library",))
    assert build.versions()["no-such-library"] == "missing"
