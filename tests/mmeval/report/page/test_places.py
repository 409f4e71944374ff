import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

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


def place(run: Path, *, copy: bool = False, shown: str = "report", **row: Any) -> MediaPlace:
    given = {"sha256": SHA, "mime": "image/png", "size": len(PNG), **row}
    return Places(run, (run / shown).resolve(), run / ".report", copy=copy).place(given)


def test_a_medium_of_the_run_has_a_relative_address(run: Path) -> None:
    assert place(run).src == f"../media/{SHA[:2]}/{SHA}.png"


def test_the_address_counts_from_where_the_report_is_shown(run: Path) -> None:
    assert place(run, shown="../elsewhere").src == f"../run/media/{SHA[:2]}/{SHA}.png"


@pytest.mark.parametrize("name", ["a b.png", "50%.png", "q?x#y.png", "ümläut \u202e.png", "'\"<>&.png"])
def test_a_medium_of_a_data_set_has_the_address_of_its_file(name: str, run: Path) -> None:
    file = run.parent / name
    file.write_bytes(PNG)
    address = urlsplit(place(run, path=str(file)).src)
    assert (address.scheme, address.netloc, address.query, address.fragment) == ("file", "", "", "")
    assert unquote(address.path) == str(file)
    assert address.path.isascii()


def test_no_address_names_another_machine(run: Path) -> None:
    file = run.parent / "a.png"
    file.write_bytes(PNG)
    assert place(run, path=f"/{file}").src == file.as_uri()


@pytest.mark.parametrize(
    ("row", "note"),
    [
        ({"path": "/nowhere/cat.png"}, "its file has gone: cat.png"),
        ({"path": "/nowhere/a\x00b"}, "its file has gone"),
        ({"path": "/"}, "it is no file"),
        ({"sha256": "../../etc/passwd"}, "its record is damaged"),
        ({"sha256": None}, "its record is damaged"),
        ({"size": "many"}, "its record is damaged"),
        ({"size": 3}, "its file has changed since it was recorded (3 bytes then, 18 now)"),
        ({"sha256": "0" * 64}, "its file has gone"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_shown_says_why(row: dict[str, Any], note: str, run: Path) -> None:
    found = place(run, **row)
    assert found.src == ""
    assert found.note.startswith(note)


def test_copied_media_lie_in_the_report(run: Path) -> None:
    found = place(run, copy=True)
    assert found.src == f"media/{SHA}.png"
    assert (run / ".report" / found.src).read_bytes() == PNG


def test_a_copy_is_a_link_where_the_disk_has_links(run: Path) -> None:
    place(run, copy=True)
    assert (run / ".report" / "media" / f"{SHA}.png").stat().st_nlink == 2


def test_a_record_cannot_have_another_file_copied(run: Path) -> None:
    secret = run.parent / "secret"
    secret.write_bytes(b"x" * len(PNG))
    assert place(run, copy=True, path=str(secret)).note == "its file has changed since it was recorded"
    assert not (run / ".report" / "media" / f"{SHA}.png").exists()
