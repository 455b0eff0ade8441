"""The pages as an application that a web server runs, and who may ask for them.

Everything is read only. A request needs the token, in its address or in the cookie that this made;
it has to name this computer as its host, so that a site whose name leads here gets nothing. Pages
load from here alone.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from pocketsim.report.html.page import Page
from pocketsim.sim.base.errors import UserError
from pocketsim.view.pages import overview, run_page, transaction_page
from pocketsim.view.pages.page import ALL_RUNS, files, whole

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from pocketsim.view.pages.page import File
    from pocketsim.view.pages.run_page import Shown
    from pocketsim.view.recorded.run_folder import RunFolder


def application(folder: RunFolder, token: str, cookie: str) -> Starlette:
    """Return the application; `cookie` is what the one that holds the token is called."""
    views = _Views(folder)
    pages = {
        "/": views.overview,
        "/run": views.run,
        "/window": views.window,
        "/transaction": views.transaction,
    }
    routes = [Route(path, endpoint) for path, endpoint in pages.items()]
    routes += [Route(path, functools.partial(_served, file=file)) for path, file in files().items()]
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(_Headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
            Middleware(_Gate, token=token, cookie=cookie),
        ],
        exception_handlers={UserError: _refused, HTTPException: _refused},
    )


class _Views:
    """What is answered to each address; each runs in a thread of its own."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    def overview(self, request: Request) -> Response:
        asked = self._folder.asked.with_options(metric=request.query_params.get("metric", ""))
        columns = request.query_params.getlist("column")
        return HTMLResponse(overview.html(self._folder.listed(), asked, columns))

    def run(self, request: Request) -> Response:
        return HTMLResponse(run_page.html(self._shown(request)))

    def window(self, request: Request) -> Response:
        times = [_seconds(request, name) for name in ("until", "width")]
        return JSONResponse(run_page.window(self._shown(request), *times))

    def transaction(self, request: Request) -> Response:
        said = request.query_params.get("id", "")
        return HTMLResponse(transaction_page.html(self._shown(request), said))

    def _shown(self, request: Request) -> Shown:
        name, said = (
            request.query_params.get("run", ""),
            request.query_params.get("repetition", "0"),
        )
        run = self._folder.listed().by_name.get(name)
        if run is None:
            raise HTTPException(404, "there is no such run")
        last = int(run.resolved["run"]["repetitions"]) - 1
        if not (said.isascii() and said.isdecimal() and int(said[:_DIGITS]) <= last):
            raise HTTPException(404, f"there is no such repetition; they are 0 to {last}")
        return run_page.Shown(name, run, int(said[:_DIGITS]))


class _Headers:
    """Says with every answer that it is for this page alone, and loads nothing from elsewhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = [name for name, _ in message["headers"]]
                more = [pair for pair in _HEADERS if pair[0] not in known]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._app(scope, receive, say)


class _Gate:
    """Lets through who only reads and knows the token."""

    def __init__(self, app: ASGIApp, token: str, cookie: str) -> None:
        self._app, self._token, self._cookie = app, token.encode(), cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if request.method != "GET":
            answer: Any = PlainTextResponse("this only shows: GET\n", 405, {"Allow": "GET"})
        elif self._knows(request.query_params.get("token")):
            send = self._with_cookie(send)
            answer = self._app
        elif self._knows(request.cookies.get(self._cookie)):
            answer = self._app
        else:
            answer = PlainTextResponse(_NO_TOKEN, 403)
        await answer(scope, receive, send)

    def _knows(self, said: str | None) -> bool:
        return said is not None and hmac.compare_digest(said.encode(), self._token)

    def _with_cookie(self, send: Send) -> Send:
        bare = Response()
        bare.set_cookie(self._cookie, self._token.decode(), httponly=True, samesite="strict")
        made = [pair for pair in bare.raw_headers if pair[0] == b"set-cookie"]

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *made]
            await send(message)

        return say


def _served(_request: Request, file: File) -> Response:
    return Response(file.content, headers=_KEPT, media_type=file.media_type)


def _refused(request: Request, error: Exception) -> Response:
    """Say in words what was asked for that is not there."""
    status, said = 400, str(error)
    if isinstance(error, HTTPException):
        status, said = error.status_code, error.detail
    elif isinstance(error, transaction_page.NoTransactionError):
        status = 404
    if request.url.path == "/window":
        return JSONResponse({"error": said}, status)
    page = Page("Not to be shown")
    page.heading()
    page.paragraph(said)
    return HTMLResponse(whole(page, [ALL_RUNS]), status)


def _seconds(request: Request, name: str) -> float:
    said = request.query_params.get(name, "0")
    try:
        found = float(said)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise HTTPException(400, f"{name} is a number of seconds")
    return found


HOSTS = ["127.0.0.1", "localhost"]
# Of no text: plotly puts its rules into an element of style that it makes empty.
_EMPTY = base64.b64encode(hashlib.sha256().digest()).decode()
_LOADS = (
    *("default-src 'self'", f"style-src 'self' 'sha256-{_EMPTY}'"),
    *("base-uri 'none'", "form-action 'self'"),
    *("frame-ancestors 'none'", "object-src 'none'"),
)
_HEADERS = (
    (b"content-security-policy", "; ".join(_LOADS).encode()),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
_KEPT = {"cache-control": "private, max-age=600"}  # the same for all pages, and large
_NO_TOKEN = "open the address that `pocketsim view` printed: it has the token\n"  # noqa: S105
_DIGITS = 9
