"""Leads a browser to the pages by a file that only its user can read.

Every user of a computer can read the arguments of its programs. A browser that is started with the
address would show them its token; so it is started with the name of a file that has the address.
"""

from __future__ import annotations

import html
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def leading_to(address: str) -> Iterator[str]:
    """Yield the address of a private file that leads to `address`; it is gone in the end."""
    with tempfile.TemporaryDirectory(prefix="pocketsim-view-") as folder:  # of mode 0700
        path = Path(folder) / "open.html"
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w") as file:
            file.write(_PAGE.format(address=html.escape(address)))
        yield path.as_uri()


# A browser of a terminal may not go on by itself: it has the link.
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>pocketsim view</title>
<p><a href="{address}">Show the runs</a></p>
</html>
"""
