from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import sidecar
from mmeval.interchange.media_paths import MediaPaths, MediaRoot, missing_remarks
from tests.support.tiny_media import picture

PICTURE = picture()
SECRET = picture(colour=9)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """A folder of answers with one picture, and a picture beside the folder."""
    (tmp_path / "answers" / "gen").mkdir(parents=True)
    (tmp_path / "answers" / "gen" / "1.png").write_bytes(PICTURE)
    (tmp_path / "secret.png").write_bytes(SECRET)
    (tmp_path / "answers" / "link.png").symlink_to(tmp_path / "secret.png")
    return tmp_path / "answers"


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    """A folder to which the files of answers were moved."""
    (tmp_path / "moved" / "a").mkdir(parents=True)
    (tmp_path / "moved" / "a" / "1.png").write_bytes(PICTURE)
    return tmp_path / "moved"


def test_an_absolute_path_that_leads_into_the_folder_is_read(answers: Path) -> None:
    name = str(answers / "gen" / "1.png")
    assert MediaPaths().find(name, (answers,)).read() == PICTURE


@pytest.mark.parametrize(
    "name",
    [
        "gen/2.png",
        "gen",
        "",
        "../secret.png",
        "..\\secret.png",
        "/etc/hostname",
        "C:\\out\\1.png",
        "link.png",
        "https://host/1.png",
        "data:image/png;base64,iVBOR",
        "iVBOR" * 99,
        "a/" * 5000,
        "\x00",
    ],
    ids=lambda name: repr(name[:20]),
)
def test_what_is_missing_or_leads_out_is_a_missing_file_with_a_reason(
    name: str, answers: Path
) -> None:
    paths = MediaPaths()
    assert (paths.has(name, (answers,)), paths.sha256(name, (answers,))) == (False, "")
    with pytest.raises(MissingDataError, match="is not a file"):
        paths.find(name, (answers,))


def test_a_file_that_is_too_large_is_not_used_and_says_so(
    answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidecar, "MAX_MEDIUM_BYTES", 10)
    assert MediaPaths().sha256("gen/1.png", (answers,)) == ""
    with pytest.raises(MissingDataError, match="larger"):
        MediaPaths().find("gen/1.png", (answers,))


@pytest.mark.parametrize(
    ("old", "name"),
    [
        ("/data/out", "/data/out/a/1.png"),
        ("/data/out/", "/data/out//a/./1.png"),
        ("/", "/a/1.png"),
        ("results/out", "./results/out/a/1.png"),
        (".", "a/1.png"),
        ("C:\\out", "C:\\out\\a\\1.png"),
        ("C:/out", "C:\\out\\a\\1.png"),
        ("https://host/out", "https://host/out/a/1.png"),
    ],
)
def test_media_root_says_where_files_lie_now(old: str, name: str, moved: Path) -> None:
    paths = MediaPaths(f"{old}={moved}")
    assert paths.is_moved(name)
    assert paths.find(name, ()).read() == PICTURE


@pytest.mark.parametrize(
    "name",
    ["/data/outer/a/1.png", "/data/out/../../secret.png", "/data/out", "a/1.png"],
)
def test_media_root_leads_to_no_other_file(
    name: str, moved: Path, answers: Path
) -> None:
    paths = MediaPaths(f"/data/out={moved}")
    assert not paths.is_moved(name)
    assert not paths.has(name, (answers,))


def test_the_longest_old_folder_is_tried_first(moved: Path, answers: Path) -> None:
    both: MediaRoot = [f"/data={moved}", f"/data/a={answers / 'gen'}"]
    (answers / "gen" / "1.png").write_bytes(SECRET)
    assert MediaPaths(both).find("/data/a/1.png", ()).read() == SECRET


def test_a_file_that_was_not_moved_is_found_where_it_was(
    moved: Path, answers: Path
) -> None:
    paths = MediaPaths(f"gen={moved}")
    assert paths.find("gen/1.png", (answers,)).read() == PICTURE


@pytest.mark.parametrize("text", ["/data/out", "=/new", "/old=", ""])
def test_media_root_of_another_form_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        MediaPaths(text)
    assert caught.value.name == "media_root"


def test_a_new_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        MediaPaths(f"/data/out={tmp_path / 'gone'}")
    assert caught.value.name == "media_root"


def test_missing_files_are_counted_once_each_and_the_first_is_named() -> None:
    (remark,) = missing_remarks(["/x/1.png", "/x/2.png", "/x/1.png"])
    assert (": 2, " in remark, "'/x/1.png'" in remark) == (True, True)
    assert missing_remarks([]) == []
