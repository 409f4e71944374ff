import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import pytest

from mmeval.report.page.places import MediaPlace, Places

PNG = b"\x89PNG\r\n\x1a\n and so on"
SHA = hashlib.sha256(PNG).hexdigest()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run" / "media" / SHA[:2]).mkdir(parents=True)
    (tmp_path / "run" / "media" / SHA[:2] / f"{SHA}.png").write_bytes(PNG)
    (tmp_path / "run" / ".report").mkdir()
    return tmp_path / "run"


def place(
    run: Path, *, copy: bool = False, shown: str = "report", **row: Any
) -> MediaPlace:
    given = {"sha256": SHA, "mime": "image/png", "size": len(PNG), **row}
    return Places(run, (run / shown).resolve(), run / ".report", copy=copy).place(given)


@pytest.mark.parametrize(
    ("shown", "way"), [("report", ".."), ("../elsewhere", "../run")]
)
def test_a_medium_of_the_run_has_an_address_relative_to_the_report(
    shown: str, way: str, run: Path
) -> None:
    assert place(run, shown=shown).src == f"{way}/media/{SHA[:2]}/{SHA}.png"


@pytest.mark.parametrize(
    "name", ["a b.png", "50%.png", "q?x#y.png", "ümläut \u202e.png", "'\"<>&.png"]
)
def test_a_medium_of_a_data_set_has_the_address_of_its_file(
    name: str, run: Path
) -> None:
    file = run.parent / name
    file.write_bytes(PNG)
    address = urlsplit(place(run, path=str(file)).src)
    assert address == SplitResult("file", "", address.path, query="", fragment="")
    assert unquote(address.path) == str(file)
    assert address.path.isascii()
    # and no name of another machine
    assert place(run, path=f"/{file}").src == file.as_uri()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"path": "/nowhere/cat.png"}, "cat.png"),
        ({"path": "/nowhere/a\x00b"}, "missing"),
        ({"path": "/"}, "not a file"),
        ({"sha256": "../../etc/passwd"}, "damaged"),
        ({"size": "many"}, "damaged"),
        ({"size": 3}, "3 bytes"),
        ({"sha256": "0" * 64}, "missing"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_shown_has_its_reason(
    row: dict[str, Any], words: str, run: Path
) -> None:
    found = place(run, **row)
    assert found.src == ""
    assert words in found.note


def test_copied_media_lie_in_the_report_as_links_and_a_record_cannot_have_another_file_copied(
    run: Path,
) -> None:
    found = place(run, copy=True)
    copied = run / ".report" / found.src
    assert (found.src, copied.read_bytes(), copied.stat().st_nlink) == (
        f"media/{SHA}.png",
        PNG,
        2,
    )
    copied.unlink()
    secret = run.parent / "secret"
    secret.write_bytes(b"x" * len(PNG))
    assert "changed" in place(run, copy=True, path=str(secret)).note
    assert not copied.exists()
