"""A custom protocol in Rust: its library is loaded, and simulates instead of the engine.

It is linked to the engine's code, and loads SimGrid where a run has flows, as the engine's own
module does. `sim.scenario.custom_library` has checked it before.
"""

from __future__ import annotations

import hashlib
import importlib.util
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.errors import ProtocolError
from pocketsim.sim.base.files import check_same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pocketsim.sim.plan.plan import Plan
    from pocketsim.sim.run.custom_objects import CustomObjects
    from pocketsim.sim.scenario.resolved import Protocol


def run(
    plan: Plan,
    tell: Callable[[float, int], None],
    own: CustomObjects,
    protocol: Protocol,
    files: Mapping[str, str],
) -> Any:
    """Return what the engine returns for a plan, with the machines of a library.

    Of what is `own`, it takes the policies of its transport.

    Raises ScenarioError where the library is no longer what it was, ProtocolError where it does not
    load or its machines fail.
    """
    digest = protocol["digest"]
    assert digest is not None, "a library has one"
    path = Path(files[digest])
    with path.open("rb") as file:
        check_same(path, hashlib.file_digest(file, "sha256").hexdigest(), digest)
    try:
        return _module(path).run(plan, tell, {**own, "options": protocol["options"]})
    except ImportError as error:
        raise ProtocolError(f"{path}: does not load: {error}") from error
    except ValueError as error:
        raise ProtocolError(f"{path}: {error}") from error


def _module(path: Path) -> Any:
    loader = ExtensionFileLoader(_NAME, str(path))
    spec = importlib.util.spec_from_file_location(_NAME, path, loader=loader)
    assert spec is not None, "it has a loader"
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


_NAME = "own_protocol"  # which its file need not be called
