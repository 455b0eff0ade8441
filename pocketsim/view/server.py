"""Serves the pages on this computer alone, until it is interrupted."""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import warnings
from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import EnvironmentMissingError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn

    from pocketsim.view.recorded.run_folder import RunFolder


def check() -> None:
    """Raise EnvironmentMissingError unless what serves pages is there."""
    missing = [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        raise EnvironmentMissingError(f"{' and '.join(missing)}, {_MISSING}")


def listening(port: int) -> socket.socket:
    """Return a socket that takes connections from this computer; port 0 takes a free one.

    Raises UserError for a port that is not to be had.
    """
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()
    except OSError as error:
        found.close()
        reason = (error.strerror or "not to be had").lower()
        raise UserError(f"--port: {port}: {reason}; without --port a free one is taken") from None
    return found


def address(sock: socket.socket, token: str) -> str:
    """Return where the pages are."""
    return f"http://{HOST}:{sock.getsockname()[1]}/?token={token}"


def serve(folder: RunFolder, port: int, token: str, ready: Callable[[str], None]) -> None:
    """Serve the runs of a folder until the process is interrupted, and return then.

    `ready` is called with the address once it can be asked for. Raises UserError for a port that is
    not to be had.
    """
    with listening(port) as sock:
        server = made(folder, sock, token)
        with warnings.catch_warnings():
            # Whoever ends it at once ends what has not begun.
            warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
            with contextlib.suppress(KeyboardInterrupt):  # this is how it is ended
                ready(address(sock, token))
                server.run(sockets=[sock])


def made(folder: RunFolder, sock: socket.socket, token: str) -> uvicorn.Server:
    """Return what serves the runs of a folder to who knows the token."""
    import uvicorn

    from pocketsim.view.application import application

    # Cookies do not tell ports apart, names of cookies do.
    cookie = f"pocketsim_view_{sock.getsockname()[1]}"
    config = uvicorn.Config(
        application(folder, token, cookie),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


HOST = "127.0.0.1"
_MISSING = "which `pocketsim view` serves pages with, is missing: pip install 'pocketsim[view]'"
