from __future__ import annotations

from collections.abc import Iterator

import pytest

from mmeval.doctor.finding import Finding, Section, section, sound
from mmeval.errors import MissingDataError, UsageError


def ill() -> Iterator[Finding]:
    yield Finding("ok", "the first thing")
    raise RuntimeError("out of sorts")


def test_a_check_that_fails_keeps_what_it_had_found_and_says_why() -> None:
    found = section("A", ill, lambda: [Finding("ok", "another")])

    assert [(one.status, one.what) for one in found.findings] == [
        ("ok", "the first thing"),
        ("broken", "ill could not be checked (RuntimeError: out of sorts)"),
        ("ok", "another"),
    ]


@pytest.mark.parametrize(("error", "status"), [(MissingDataError("gone"), "missing"), (UsageError("odd"), "broken")])
def test_an_error_with_a_message_for_the_user_is_that_message(error: Exception, status: str) -> None:
    def check() -> Iterator[Finding]:
        raise error
        yield

    (found,) = section("A", check, required=True).findings
    assert (found.status, found.what, found.blocks) == (status, str(error), True)


@pytest.mark.parametrize(
    ("finding", "asked", "expected"),
    [
        (Finding("missing", "x", required=True), True, False),
        (Finding("missing", "x"), True, True),
        (Finding("broken", "x"), True, True),
        (Finding("broken", "x"), False, False),
        (Finding("missing", "x"), False, True),
        (Finding("note", "x"), False, True),
    ],
)
def test_what_was_asked_for_decides(finding: Finding, asked: bool, expected: bool) -> None:
    assert sound([Section("A", (finding,))], asked=asked) is expected
