"""The HTTP server of the page for raters."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from mmeval.errors import StorageError, UsageError
from mmeval.report.page.shell import STATIC as REPORT_STATIC
from mmeval.system.json_lines import to_line
from mmeval.trust.annotate.access import EVERYONE, Tokens, is_own_host
from mmeval.trust.annotate.blind_parts import OpaqueFiles, ServedFile
from mmeval.trust.annotate.session import Session

log = logging.getLogger(__name__)

STATIC = Path(__file__).with_name("static")
OWN_ASSETS = ("annotate.js", "annotate.css", "icon.svg")
REPORT_ASSETS = (
    "dom.js",
    "controls.js",
    "data.js",
    "kinds.js",
    "viewer.js",
    "parts.js",
    "page.css",
)
"""The files of the report page that show parts."""
MAX_BODY = 200_000
MAX_RANGE = 4 * 2**20
"""Maximum number of bytes of a file in one reply to a player."""
MAX_DIGITS = 18
_TYPES: Mapping[str, str] = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "media-src 'self'; connect-src 'self'; object-src 'none'; frame-src 'none'; "
    "worker-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types mmeval"
)
"""The policy of the report page, for a server instead of files."""
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # the address of the page contains the rater's token
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SUBMITTED = "https://app.prolific.com/submissions/complete?cc="


@dataclass(frozen=True)
class Completion:
    """The codes that Prolific expects at the end. ``failed`` is for raters with too few
    right gold answers; it is empty if they get ``code``. With ``keep_ids``, raters are
    named by their number at Prolific instead of a hash of it."""

    code: str
    failed: str = ""
    keep_ids: bool = False


@dataclass(frozen=True)
class Access:
    """Who may use the page. ``completion`` is None unless raters come from Prolific."""

    tokens: Tokens
    raters: Collection[str]
    hosts: Collection[str]
    completion: Completion | None = None


class Reply(NamedTuple):
    """A reply to a browser."""

    status: HTTPStatus
    body: bytes
    mime: str
    headers: Mapping[str, str] = {}


class _RefusedError(Exception):
    """A request that gets no answer but the reason."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


_NOTHING_HERE = "there is nothing here"


class AnnotationServer(ThreadingHTTPServer):
    """Serves a session. Raises OSError if the address is in use."""

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        session: Session,
        access: Access,
        files: OpaqueFiles,
    ) -> None:
        super().__init__(address, AnnotationHandler)
        self.session = session
        self.access = access
        self.files = files

    def path_of(self, rater: str) -> str:
        """Returns the path of a rater's page."""
        return f"/{quote(self.access.tokens.of(rater))}/"

    def handle_error(self, _request: Any, _address: Any) -> None:
        """Logs an error of a request, such as a browser that has gone."""
        log.debug("a request ended early", exc_info=True)


class AnnotationHandler(BaseHTTPRequestHandler):
    """Answers one request of a browser."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    # headers and body leave in one packet: a body alone waits for the browser's
    # acknowledgement of the headers
    wbufsize = -1
    server: AnnotationServer

    def version_string(self) -> str:
        """Returns the name of this server for the header ``Server``."""
        return "mmeval"

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: addresses contain tokens."""

    def do_GET(self) -> None:
        """Answers a request for a page, a file or a trial."""
        self._send(self._answer("GET", b""))

    def do_POST(self) -> None:
        """Keeps a rating."""
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True
            self._send(_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too long"))
            return
        self._send(self._answer("POST", self.rfile.read(int(length))))

    def _answer(self, method: str, body: bytes) -> Reply:
        try:
            return self._answered(method, body)
        except _RefusedError as error:
            return _error(error.status, str(error))
        except UsageError as error:
            return _error(HTTPStatus.CONFLICT, str(error))
        except StorageError as error:
            log.error("%s", error)
            text = "the answer could not be saved; please tell who sent you the link"
            return _error(HTTPStatus.INSUFFICIENT_STORAGE, text)

    def _answered(self, method: str, body: bytes) -> Reply:
        access = self.server.access
        if not is_own_host(self.headers.get("Host", ""), access.hosts):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "this address is not known here")
        address = urlsplit(self.path)
        token, slash, place = address.path.removeprefix("/").partition("/")
        rater = access.tokens.rater(token)
        if rater == EVERYONE and access.completion is not None:
            return self._joined(address.query, access.completion)
        is_known = access.completion is not None or rater in access.raters
        if rater is None or rater == EVERYONE or not is_known:
            text = "the link is wrong or not complete"
            raise _RefusedError(HTTPStatus.FORBIDDEN, text)
        if not slash:  # a link that was copied without its last character
            return _moved(self.server.path_of(rater))
        if method == "POST":
            return self._rated(rater, place, body)
        folder, _, name = place.partition("/")
        if folder == "assets":
            return _asset_reply(name)
        if folder == "media":
            return self._medium(name)
        return self._page(rater, place, parse_qs(address.query))

    def _page(self, rater: str, place: str, query: Mapping[str, list[str]]) -> Reply:
        session = self.server.session
        if place == "":
            return Reply(HTTPStatus.OK, _asset("index.html"), _TYPES[".html"])
        if place == "next":
            page = session.next_page(rater)
            if "finished" in page:
                page["leads_on"] = self.server.access.completion is not None
            return _json(page)
        if place == "previous":
            return _json(session.previous_page(rater, query.get("id", [""])[0]))
        if place == "end":
            return self._ended(rater)
        raise _RefusedError(HTTPStatus.NOT_FOUND, _NOTHING_HERE)

    def _rated(self, rater: str, place: str, body: bytes) -> Reply:
        # a foreign page can send a form here, but not JSON
        if self.headers.get_content_type() != "application/json":
            text = "JSON is expected"
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text)
        if place != "rate":
            raise _RefusedError(HTTPStatus.NOT_FOUND, _NOTHING_HERE)
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            text = "an object of JSON is expected"
            raise _RefusedError(HTTPStatus.BAD_REQUEST, text)
        self.server.session.rate(rater, values)
        return _json({"saved": True})

    def _medium(self, name: str) -> Reply:
        file = self.server.files.get(name)
        if file is None:
            raise _RefusedError(HTTPStatus.NOT_FOUND, _NOTHING_HERE)
        try:
            return _medium_reply(file, self.headers.get("Range", ""))
        except OSError:
            raise _RefusedError(HTTPStatus.NOT_FOUND, "the file is gone") from None

    def _joined(self, query: str, completion: Completion) -> Reply:
        """Returns the way to the own page of a person who comes from Prolific."""
        person = parse_qs(query).get("PROLIFIC_PID", [""])[0]
        if not person or len(person) > 100:
            text = "PROLIFIC_PID is missing in the link"
            raise _RefusedError(HTTPStatus.FORBIDDEN, text)
        tokens = self.server.access.tokens
        rater = person if completion.keep_ids else tokens.hidden(person)
        return _moved(self.server.path_of(rater))

    def _ended(self, rater: str) -> Reply:
        """Returns the way back to Prolific, with the code of this rater."""
        completion = self.server.access.completion
        session = self.server.session
        if completion is None or "finished" not in session.next_page(rater):
            text = "there are more answers to rate"
            raise _RefusedError(HTTPStatus.CONFLICT, text)
        code = completion.code
        if completion.failed and session.gold_share(rater).is_low:
            code = completion.failed
        return _moved(_SUBMITTED + quote(code, safe=""))

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in {**_HEADERS, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", reply.mime)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)


def _json(value: Mapping[str, Any]) -> Reply:
    return Reply(HTTPStatus.OK, to_line(value), "application/json")


def _error(status: HTTPStatus, text: str) -> Reply:
    return Reply(status, to_line({"error": text}), "application/json")


def _moved(address: str) -> Reply:
    headers = {"Location": address}
    return Reply(HTTPStatus.SEE_OTHER, b"", "text/plain; charset=utf-8", headers)


def _medium_reply(file: ServedFile, header: str) -> Reply:
    """Returns a file, or the one range of it that a player asks for. Of a long range,
    the first bytes are sent; players then ask for the next."""
    headers = {"Accept-Ranges": "bytes"}
    unit, _, span = header.partition("=")
    first, _, last = span.partition("-")
    is_range = unit == "bytes" and _is_number(first) and (_is_number(last) or not last)
    if not is_range:
        return Reply(HTTPStatus.OK, file.read(), file.mime, headers)
    start, size = int(first), file.size()
    end = min(int(last) if last else size - 1, size - 1)
    if start > end:
        headers["Content-Range"] = f"bytes */{size}"
        status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
        return Reply(status, b"", file.mime, headers)
    content = file.part(start, min(end - start + 1, MAX_RANGE))
    headers["Content-Range"] = f"bytes {start}-{start + len(content) - 1}/{size}"
    return Reply(HTTPStatus.PARTIAL_CONTENT, content, file.mime, headers)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def _asset_reply(name: str) -> Reply:
    if name not in OWN_ASSETS + REPORT_ASSETS:
        raise _RefusedError(HTTPStatus.NOT_FOUND, _NOTHING_HERE)
    return Reply(HTTPStatus.OK, _asset(name), _TYPES[Path(name).suffix])


@cache
def _asset(name: str) -> bytes:
    folder = REPORT_STATIC if name in REPORT_ASSETS else STATIC
    return (folder / name).read_bytes()
