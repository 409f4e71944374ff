from collections.abc import Iterator
from functools import partial

from mmeval.doctor.finding import Finding, Section, section, sound
from mmeval.errors import MissingDataError, UsageError


def ill(error: Exception) -> Iterator[Finding]:
    yield Finding("ok", "the first thing")
    raise error


def test_a_check_that_fails_keeps_what_it_had_found_and_names_its_error() -> None:
    errors = (
        RuntimeError("out of sorts"),
        OSError(),
        MissingDataError("gone"),
        UsageError("odd"),
    )
    found = section(
        "A",
        *(partial(ill, error) for error in errors),
        lambda: [Finding("ok", "z")],
        required=True,
    ).findings
    assert [one.status for one in found] == [
        "ok",
        "broken",
        "ok",
        "broken",
        "ok",
        "missing",
        "ok",
        "broken",
        "ok",
    ]
    assert [one.what.partition(" ")[0] for one in (found[1], found[3])] == [
        "ill",
        "ill",
    ]
    assert (
        "RuntimeError: out of sorts" in found[1].what,
        "(OSError)" in found[3].what,
    ) == (True, True)
    assert [(one.what, one.blocks) for one in (found[5], found[7])] == [
        ("gone", True),
        ("odd", True),
    ]


def test_what_was_asked_for_decides() -> None:
    must = Finding("missing", "x", required=True)
    may = Finding("missing", "x")
    broken = Finding("broken", "x")
    given = [
        (must, True),
        (Finding("note", "x", required=True), True),
        (may, True),
        (broken, True),
    ]
    found = [
        sound([Section("A", (one,))], asked=asked)
        for one, asked in (*given, (broken, False), (may, False))
    ]
    assert found == [False, True, True, True, False, True]
