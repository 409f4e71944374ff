import re
from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.authoring.validate import CheckTally
from mmeval.cli import validate
from mmeval.content.media import Media
from mmeval.decode import check
from mmeval.decode.check import MediaLook
from mmeval.errors import MissingExtraError
from mmeval.installation import install_command
from tests.support import tiny_media
from tests.support.judges import judge, judge_server
from tests.support.questions import write_benchmark
from tests.support.task_folder import task, write_files, write_rows


def test_sound_tasks_are_counted_and_their_bounds_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_benchmark(tmp_path, "one", "two")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["validate", str(folder)]) == 0
    _, _, *rows, counted, means, last = capsys.readouterr().out.splitlines()
    numbers = [re.findall(r"[\d.]+", line) for line in (counted, means, last)]
    assert numbers == [["2", "6", "0"], ["1.00", "0.00", "0.00"], ["0", "0"]]
    assert [line.split("|")[1].strip() for line in rows] == ["one", "two"]
    assert [re.findall(r"\d\.\d+", line) for line in rows] == [
        ["1.0000", "0.0000", "0.0000"]
    ] * 2
    assert list((tmp_path / "here").iterdir()) == [], "nothing is left behind"


def test_a_judge_is_asked_as_often_as_was_said_before(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rubric = (
        'rubric_judge\n    prompt: {text: "{{ criterion }} {{ answer }}. {{ form }}"}'
    )
    write_files(
        tmp_path,
        {"t.yaml": task("t", "dataset_path: rows").replace("exact_match", rubric)},
    )
    rows = (
        {
            "id": str(i),
            "input": f"q{i}",
            "reference": f"r{i}",
            "rubric": [f"wants r{i}"],
        }
        for i in range(3)
    )
    write_rows(tmp_path / "rows", *rows)
    says = {
        **{f"wants r{i} r{i}.": {"met": "yes"} for i in range(3)},
        "wants": {"met": "no"},
    }
    with judge_server(tmp_path / "judge", says) as server:
        assert main(["validate", str(tmp_path / "t.yaml"), *judge(server)]) == 0
        asked = server.stats()["requests"]
    printed = capfd.readouterr()
    assert "1.0000|  0.0000|0.0000" in printed.out
    assert f" {asked} " in printed.err


def test_media_that_are_not_decoded_here_or_not_in_time_are_a_warning_that_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(_media: Media) -> None:
        raise MissingExtraError("av", "video")

    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: rows"), "rows/.keep": ""})
    media = {"image1": "p.png", "image2": "q.png"}
    for at, name in enumerate(media.values()):
        (tmp_path / "rows" / name).write_bytes(tiny_media.picture() + bytes(at))
    write_rows(
        tmp_path / "rows",
        {"input": "see <<image1>> <<image2>>", "reference": "r", "media": media},
    )
    with monkeypatch.context() as patched:
        patched.setattr(check, "_DECODERS", {"image": absent})
        assert main(["validate", str(tmp_path / "t.yaml"), "--bounds", "false"]) == 0
    lacking, last = capsys.readouterr().out.splitlines()
    assert (lacking.startswith("warning: image: "), last) == (
        True,
        "0 errors, 1 warning",
    )
    assert install_command("video") in lacking
    monkeypatch.setattr(
        validate, "CheckTally", lambda: CheckTally(look=MediaLook(seconds=1e-9))
    )
    assert main(["validate", str(tmp_path / "t.yaml"), "--bounds", "false"]) == 0
    late, last = capsys.readouterr().out.splitlines()
    assert (late.startswith("warning: 1 of 2 media"), late.endswith("[decoding]")) == (
        True,
        True,
    )
    assert last == "0 errors, 1 warning"


def test_a_judge_that_is_lost_is_not_asked_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with judge_server(tmp_path / "judge", expire_after=1) as server:
        assert (
            main(["validate", "rubric_example", *judge(server, max_connections="1")])
            == 2
        )
        asked = server.stats()["requests"]
    printed = capfd.readouterr()
    assert "3 references" in printed.out
    assert asked == 2, "the shuffled and the empty answers are not judged"
