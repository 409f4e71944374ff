"""The user's additions to requests: body fields, headers and a query."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from mmeval.errors import MissingDataError, UsageError
from mmeval.system.secrets import hidden_names, without_secrets

_SAMPLE_FIELDS = ("messages", "prompt", "input", "contents")
"""Fields that contain the content of a sample."""
_RESERVED_HEADERS = frozenset(
    ("content-length", "content-type", "host", "idempotency-key")
)


def merged(
    fields: Mapping[str, Any],
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns fields overridden by ``extra``.

    Objects are merged, null removes a field, and any other value replaces it.
    """
    result = dict(fields)
    for name, value in extra.items():
        current = result.get(name)
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            inner = current if isinstance(current, Mapping) else {}
            result[name] = merged(inner, value)
        else:
            result[name] = value
    return result


def opened_json(fields: Mapping[str, Any]) -> bytes:
    """Returns an object's JSON without its closing brace, to append another field."""
    written = json.dumps(fields)[:-1]
    return (f"{written}, " if fields else written).encode()


def form_fields(fields: Mapping[str, Any]) -> dict[str, str]:
    """Returns the fields of a form. Strings are unchanged, other values become JSON."""
    texts = {}
    for name, value in fields.items():
        texts[name] = value if isinstance(value, str) else json.dumps(value)
    return texts


def checked_extra_body(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Returns the user's body fields.

    Raises UsageError for a value that cannot be sent as JSON, and for a field that
    contains the sample.
    """
    extra = checked_fields("extra_body", value)
    for name in _SAMPLE_FIELDS:
        if name in extra:
            raise UsageError(
                f"extra_body contains {name}, which each sample sets; leave it out",
                name="extra_body",
            )
    return extra


def checked_fields(
    argument: str,
    value: Mapping[str, Any] | None,
) -> Mapping[str, Any]:
    """Returns a mapping of fields. Raises UsageError if it cannot be sent as JSON."""
    fields = dict(value or {})
    try:
        json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{argument} cannot be sent as JSON ({error})", name=argument
        ) from None
    return fields


def read_headers(file: str) -> dict[str, str]:
    """Returns the headers in a JSON file, or an empty mapping without a file.

    Values are secrets, so messages do not contain them.

    Raises MissingDataError for a file that cannot be read. Raises UsageError for
    invalid headers.
    """
    if not file:
        return {}
    path = Path(file).expanduser()
    try:
        headers = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise MissingDataError(
            f"{path}: cannot read the headers ({error.strerror}); name a readable "
            "file with extra_headers_file=FILE",
            file=path,
        ) from None
    except ValueError:
        headers = None
    if not isinstance(headers, dict):
        raise UsageError(
            f"{path}: the headers must be a JSON object of names and strings",
            name="extra_headers_file",
        )
    for name, value in headers.items():
        if not isinstance(value, str) or not value.isprintable() or not value:
            raise UsageError(
                f"{path}: the header {name} must be one line of text",
                name="extra_headers_file",
            )
        _check_header_name(name, "extra_headers_file")
    return headers


def checked_key_header(name: str) -> str:
    """Returns the header for the bare key, or an empty string for ``Authorization``."""
    if name:
        _check_header_name(name, "api_key_header")
    return name


def checked_query(value: str, key_name: str) -> str:
    """Returns the query that is added to every address, such as ``a=b&c=d``.

    Raises UsageError for a string that is not a query. A query with a key is an error
    too, because the query is written to the results.
    """
    query = value.strip().removeprefix("?")
    if not query:
        return ""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    except ValueError:
        pairs = []
    is_plain = not any(char.isspace() or char == "#" for char in query)
    if not pairs or not is_plain:
        raise UsageError(
            f"query={query!r} must have a form such as api-version=2025-04-01&a=b",
            name="query",
        )
    secrets = list(hidden_names(without_secrets(dict(pairs))))
    if secrets:
        raise UsageError(
            f"query contains the secret {secrets[0]}. Set the key in {key_name} "
            "and other secrets in extra_headers_file (for a key in another header, the "
            "backend openai has api_key_header=NAME)",
            name="query",
        )
    return query


def checked_hosts(value: str) -> frozenset[str]:
    """Returns the hosts in ``HOST+HOST:PORT``, to which links may be fetched.

    Raises UsageError for a name that is not a host.
    """
    words = [host.strip() for host in value.lower().split("+")]
    hosts = [host for host in words if host]
    for host in hosts:
        name, _, port = host.partition(":")
        is_host = name and not set(name) & set("/?#@*") and not name.startswith(".")
        if not is_host or (port and not port.isdigit()):
            raise UsageError(
                f"fetch_links={host!r} is not a host; write HOST or HOST:PORT, and "
                "separate several with +",
                name="fetch_links",
            )
    return frozenset(hosts)


def _check_header_name(name: str, argument: str) -> None:
    is_token = re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None
    if not is_token or name.lower() in _RESERVED_HEADERS:
        raise UsageError(
            f"{argument}: {name!r} is not a header that you can set", name=argument
        )
