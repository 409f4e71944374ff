import pytest

from mmeval.errors import MissingExtraError
from mmeval.installation import install_command
from mmeval.media.decode import check
from mmeval.media.decode.check import MediaCheck, medium_problem
from mmeval.media.media import Media
from mmeval.media.parts import Part, PartKind
from tests.support import tiny_media as tiny
from tests.support.unread_media import UNREAD


def test_a_medium_that_is_cut_short_has_a_fault_and_when_the_seconds_are_over_the_rest_is_counted() -> (
    None
):
    look = MediaCheck()
    complete = (tiny.picture(), tiny.wav(), tiny.pdf(), b"words")
    assert [look.fault(Media.from_bytes(data)) for data in complete] == [""] * 4
    assert "cut short" in look.fault(Media.from_bytes(tiny.wav()[:-10], "cut.wav"))
    assert (look.looked_at, look.passed_over, [*look.findings()]) == (5, 0, [])
    look = MediaCheck(seconds=1e-9)
    media = [
        Media.from_bytes(tiny.picture()),
        Media.from_bytes(b"\x89PNG\r\n\x1a\n broken"),
    ]
    assert [*map(look.fault, media)] == ["", ""]
    assert (look.looked_at, look.passed_over) == (1, 1)
    (late,) = look.findings()
    assert (late.kind, late.count, late.of) == ("subset", 1, 2)


def test_a_medium_that_is_not_read_here_is_noted_without_being_a_fault() -> None:
    look = MediaCheck()
    names = ("heic", "amr", "pdf with a password")
    assert [look.fault(UNREAD[name].media) for name in names] == [""] * 3
    (warning,) = look.findings()
    assert (warning.count, "image/heic" in warning.cause) == (3, True)


def test_a_medium_of_another_kind_than_its_part_is_a_problem() -> None:
    cases: tuple[tuple[PartKind, bytes, str], ...] = (
        ("image", tiny.picture(), ""),
        ("document", tiny.picture(), ""),
        ("code", b"x = 1", ""),
        ("code", b"#VRML V2.0 utf8\n", ""),
        ("code", b'{"asset": {"version": "2.0"}}', ""),
        ("image", b"", "is empty"),
        ("image", b"\0\1", "unknown type"),
        ("code", tiny.picture(), "image/png"),
    )
    for kind, data, word in cases:
        problem = medium_problem(Part(kind), Media.from_bytes(data, "a.bin"))
        assert (word in problem, bool(problem)) == (True, bool(word))


def test_a_package_that_is_not_installed_is_named_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(_media: Media) -> None:
        raise MissingExtraError("av", "video")

    monkeypatch.setattr(check, "_DECODERS", {"image": absent, "audio": absent})
    look = MediaCheck()
    assert [
        look.fault(Media.from_bytes(data)) for data in (tiny.picture(), tiny.wav())
    ] == ["", ""]
    (warning,) = look.findings()
    assert (warning.kind, warning.subject.name) == ("missing_extra", "audio, image")
    assert warning.remedy == install_command("video")
