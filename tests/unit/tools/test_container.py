"""What Dockerfile says agrees with the files that it names; its trial notices what is wrong.

That it builds and runs is tried by `make container`.
"""

from __future__ import annotations

import re
import tomllib

import pytest
from conftest import ROOT

from tools import container

DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def argument(name):
    (value,) = re.findall(rf"^ARG {name}=(.*)$", DOCKERFILE, re.MULTILINE)
    return value


def instructions(word):
    return [line.split() for line in re.findall(rf"^{word} (.*)$", DOCKERFILE, re.MULTILINE)]


def stages():
    return {words[2]: words[0] for words in instructions("FROM")}


def test_the_label_has_the_version():
    assert argument("VERSION") == PROJECT["project"]["version"]


def test_extras_and_groups_exist():
    extras, groups = (
        set(re.findall(rf"--{kind} (\S+)", DOCKERFILE)) for kind in ("extra", "group")
    )
    assert extras == {"fit", "dask", "notebook"}
    assert extras <= set(PROJECT["project"]["optional-dependencies"])
    groups |= set(re.findall(r"--only-group (\S+)", DOCKERFILE))
    assert groups == {"engine", "simgrid", "jupyter"}
    assert groups <= set(PROJECT["dependency-groups"])


def test_uv_is_as_new_as_the_project_asks():
    numbers = [
        [int(number) for number in re.findall(r"\d+", text)]
        for text in (argument("UV"), PROJECT["tool"]["uv"]["required-version"])
    ]
    assert numbers[0] >= numbers[1]


def test_the_trial_stands_on_the_same_debian():
    assert argument("DEBIAN").endswith(f"debian:{container.SUITE}-slim")


def test_copied_files_are_not_ignored():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = [words[:-1] for words in instructions("COPY") if not words[0].startswith("--from")]
    sources = {name.split("/")[0] for words in copied for name in words}
    assert {"pocketsim", "sim", "uv.lock"} <= sources
    assert sources <= kept
    assert all((ROOT / name).exists() for words in copied for name in words)


def test_the_last_stages_have_no_compiler_and_no_root():
    base = stages()
    assert [*base][-1] == "pocketsim"
    assert base["pocketsim"] == base["notebook"] == "base"
    assert base["base"] == "python"
    last = DOCKERFILE.partition(" AS base\n")[2]
    assert re.findall(r"^USER (.*)$", last, re.MULTILINE) == ["1000:1000"]
    assert "apt-get" not in last
    assert 'ENTRYPOINT ["pocketsim"]' in last


def test_python_code_comes_after_what_is_compiled():
    """A layer is made anew when one before it is."""
    base, stage = stages(), "simgrid"
    before = DOCKERFILE.partition(" AS package\n")[0]
    assert "COPY pocketsim" not in before
    assert "COPY . " not in DOCKERFILE
    assert base["package"] == "engine"
    assert base["engine"] == stage


def test_dockerfile_has_no_heredocs():
    assert "<<" not in DOCKERFILE


@pytest.fixture
def trial(monkeypatch):
    """Have the program build nothing; return what it was asked for, and the size it will find."""
    asked, size = [], ["0.5 GB"]
    monkeypatch.setattr(container, "need_programs", lambda: None)
    monkeypatch.setattr(container, "need_debian", lambda: None)
    monkeypatch.setattr(container, "build", lambda *arguments: asked.append(arguments) or "image")
    monkeypatch.setattr(container, "TRIALS", {"pocketsim": asked.append, "notebook": asked.append})
    monkeypatch.setattr(container, "said", lambda *_: size[0])
    return asked, size


def test_both_images_are_built_and_tried(trial, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["container.py"])
    assert container.main() == 0
    assert trial[0] == [("pocketsim", None), "image", ("notebook", None), "image"]
    assert capsys.readouterr().out == "pocketsim: 500 MB\nnotebook: 500 MB\n"


def test_one_that_is_too_large_fails(trial, monkeypatch):
    monkeypatch.setattr("sys.argv", ["container.py", "--wheel", "dist", "pocketsim"])
    trial[1][0] = "600 MB"
    assert container.main() == 0
    trial[1][0] = "601 MB"
    assert container.main() == 3
    assert trial[0][0] == ("pocketsim", "dist")


def test_unknown_target_is_exit_2(trial, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["container.py", "pocketsin"])
    with pytest.raises(SystemExit) as caught:
        container.main()
    assert caught.value.code == 2
    assert "pocketsin: no target, there are pocketsim, notebook" in capsys.readouterr().err
    assert not trial[0]


def test_a_wheel_stands_in_for_its_stage(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(container, "run", lambda *command: ran.append(command))
    monkeypatch.setattr(container, "OF_THIS_MACHINE", (tmp_path, tmp_path / "missing"))
    assert container.build("pocketsim", str(tmp_path)) == f"{container.TRIAL}:pocketsim"
    assert f"wheel={tmp_path}" in ran[0]
    assert [word for word in ran[0] if word.endswith(":ro")] == [f"{tmp_path}:{tmp_path}:ro"]
    container.build("pocketsim", None)
    assert "--build-context" not in ran[1]


def test_complete_system_installs_nothing(monkeypatch):
    monkeypatch.setattr(container, "run", lambda *command: pytest.fail(str(command)))
    monkeypatch.setattr(container.shutil, "which", lambda name, **_: f"/usr/bin/{name}")
    container.need_programs()


def test_missing_packages_are_installed(monkeypatch):
    ran = []
    monkeypatch.setattr(container, "run", lambda *command: ran.append(" ".join(command)))
    there = {"debootstrap", "ip", "apt-get"}
    monkeypatch.setattr(
        container.shutil, "which", lambda name, **_: name if name in there else None
    )
    container.need_programs()
    assert ran[-1].endswith(" buildah")


def test_without_a_package_manager_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(container.shutil, "which", lambda *_, **__: None)
    with pytest.raises(SystemExit) as caught:
        container.need_programs()
    assert caught.value.code == 5
    assert "install buildah and debootstrap and iproute2" in capsys.readouterr().err


def test_a_check_that_fails_has_its_exit_code(capsys):
    container.check(holds=True, otherwise="?")
    with pytest.raises(SystemExit) as caught:
        container.check(holds=False, otherwise="nothing was stored")
    assert caught.value.code == 3
    assert capsys.readouterr().err == "error: nothing was stored\n"


def test_a_container_is_removed_whatever_happens(monkeypatch):
    told = []
    monkeypatch.setattr(container, "said", lambda *command: told.append(command) or "made")
    with pytest.raises(SystemExit), container.container("image"):
        container.check(holds=False, otherwise="wrong")
    assert told[-1][-2:] == ("rm", "made")
