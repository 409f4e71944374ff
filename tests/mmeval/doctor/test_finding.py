from collections.abc import Iterator
from functools import partial

import pytest

from mmeval.doctor.finding import Finding, Section, section, sound
from mmeval.errors import MissingDataError, UsageError


def ill(error: Exception = RuntimeError("out of sorts")) -> Iterator[Finding]:  # noqa: B008
    yield Finding("ok", "the first thing")
    raise error


def test_a_check_that_fails_keeps_what_it_had_found_and_names_its_error() -> None:
    found = section("A", ill, partial(ill, OSError()), lambda: [Finding("ok", "another")])
    assert [one.status for one in found.findings] == ["ok", "broken", "ok", "broken", "ok"]
    assert [found.findings[at].what.partition(" ")[0] for at in (1, 3)] == ["ill", "ill"]
    assert ["RuntimeError: out of sorts" in found.findings[1].what, "(OSError)" in found.findings[3].what] == [
        True,
        True,
    ]


@pytest.mark.parametrize(("error", "status"), [(MissingDataError("gone"), "missing"), (UsageError("odd"), "broken")])
def test_an_error_with_a_message_for_the_user_is_that_message(error: Exception, status: str) -> None:
    _, found = section("A", partial(ill, error), required=True).findings
    assert (found.status, found.what, found.blocks) == (status, str(error), True)


@pytest.mark.parametrize(
    ("finding", "asked", "expected"),
    [
        (Finding("missing", "x", required=True), True, False),
        (Finding("note", "x", required=True), True, True),
        (Finding("missing", "x"), True, True),
        (Finding("broken", "x"), True, True),
        (Finding("broken", "x"), False, False),
        (Finding("missing", "x"), False, True),
    ],
)
def test_what_was_asked_for_decides(finding: Finding, asked: bool, expected: bool) -> None:
    assert sound([Section("A", (finding,))], asked=asked) is expected
