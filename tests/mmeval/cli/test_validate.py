from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.authoring.validate import CHECKS, CheckTally
from mmeval.cli import validate
from mmeval.content.media import Media
from mmeval.decode import check
from mmeval.decode.check import MediaLook
from mmeval.errors import MissingExtraError
from mmeval.installation import install_command
from tests.support import tiny_media
from tests.support.judges import judge, judge_server
from tests.support.task_folder import task, write_files, write_rows
from tests.support.tiny_benchmark import write_benchmark


def test_sound_tasks_have_no_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_benchmark(tmp_path)

    assert main(["validate", "tiny", "--include_path", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 errors, 0 warnings"


def test_a_finding_has_file_and_line_and_makes_the_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_benchmark(tmp_path) / "tiny.yaml"
    file.write_text(file.read_text().replace("exact_match", "exakt_match"))

    assert main(["validate", str(file)]) == 2

    finding, counts = capsys.readouterr().out.splitlines()
    assert f"{file}:7: error: " in finding
    assert "exact_match" in finding
    assert counts == "1 error, 0 warnings"


def test_a_judge_is_named_as_in_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = task("t", "dataset_path: rows").replace("exact_match", "judge_grade\n    criterion: it is good")
    write_files(tmp_path, {"t.yaml": written})
    write_rows(tmp_path / "rows", {"id": "a", "input": "q", "references": ["r"]})

    words = ["validate", "t", "--include_path", str(tmp_path), "--judge", "openai", "--judge_args", "model=j"]
    assert main([*words, "--bounds", "false"]) == 0
    assert capsys.readouterr().out == "0 errors, 0 warnings\n"


def test_rows_bound_what_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_benchmark(tmp_path)
    rows = folder / "data" / "test.jsonl"
    rows.write_text(rows.read_text() + '{"id": "0", "input": "again"}\n')

    assert main(["validate", str(folder / "tiny.yaml"), "--rows", "3"]) == 0
    assert main(["validate", str(folder / "tiny.yaml")]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing-like-it"], "unknown task"),
        (["tiny", "--rows", "0"], "whole number of 1 or more"),
        (["tiny", "--data", "bundle"], 'did you mean "bundled"'),
    ],
)
def test_misuse_is_a_usage_error(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_help_lists_exactly_the_checks_that_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", "--help"])

    _, _, checks = capsys.readouterr().out.partition("checks, in this order:\n")
    named = [line.split()[0] for line in checks.splitlines() if line.startswith("  ") and line[2] != " "]
    assert named == [item.name for item in CHECKS]


def test_bundled_data_and_a_folder_of_data_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "tiny", "--data", "bundled", "--data_dir", "x"]) == 2
    assert "--data and --data_dir exclude each other" in capsys.readouterr().err


def test_sound_tasks_are_counted_and_their_bounds_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_benchmark(tmp_path, "one", "two")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    assert main(["validate", str(folder)]) == 0

    _, _, *rows, counted, means, last = capsys.readouterr().out.splitlines()
    assert counted == "2 tasks, 6 rows, 0 media"
    assert means == "reference 1.00   shuffled references 0.00   empty 0.00"
    assert rows == [f"|{name}  |exact_match|↑  |   1.0000|  0.0000|0.0000|" for name in ("one", "two")]
    assert last == "0 errors, 0 warnings"
    assert list((tmp_path / "here").iterdir()) == [], "nothing is left behind"


def test_a_number_that_cannot_tell_right_from_shuffled_answers_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: rows")})
    write_rows(tmp_path / "rows", *({"id": str(i), "input": f"q{i}", "reference": "yes"} for i in range(3)))

    assert main(["validate", str(tmp_path / "t.yaml")]) == 0

    warning, last = capsys.readouterr().out.splitlines()[-2:]
    assert f"{tmp_path}/t.yaml:2: warning: task 't': exact_match cannot tell the right answers from shuffled" in warning
    assert last == "0 errors, 1 warning"


def test_a_number_that_prefers_shuffled_answers_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = task("t", "dataset_path: rows").replace("match", "match\n    higher_is_better: false")
    write_files(tmp_path, {"t.yaml": written})
    write_rows(tmp_path / "rows", *({"id": str(i), "input": f"q{i}", "reference": f"r{i}"} for i in range(3)))

    assert main(["validate", str(tmp_path / "t.yaml")]) == 2
    assert "look at its higher_is_better [bounds]" in capsys.readouterr().out


def test_the_bounds_are_those_of_the_first_samples_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_benchmark(tmp_path, rows=5) / "tiny.yaml"

    assert main(["validate", str(file), "--limit", "1"]) == 0

    printed = capsys.readouterr().out
    assert "bounds over the first 1 sample of a task" in printed
    assert "nothing to shuffle: fewer than two samples have a reference" in printed


def test_a_judge_is_asked_as_often_as_was_said_before(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rubric = 'rubric_judge\n    prompt: {text: "{{ criterion }} {{ answer }}. {{ form }}"}'
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: rows").replace("exact_match", rubric)})
    rows = ({"id": str(i), "input": f"q{i}", "reference": f"r{i}", "rubric": [f"wants r{i}"]} for i in range(3))
    write_rows(tmp_path / "rows", *rows)
    says = {**{f"wants r{i} r{i}.": {"met": "yes"} for i in range(3)}, "wants": {"met": "no"}}

    with judge_server(tmp_path / "judge", says) as server:
        assert main(["validate", str(tmp_path / "t.yaml"), *judge(server)]) == 0
        asked = server.stats()["requests"]

    printed = capfd.readouterr()
    assert "1 task, 3 rows, 0 media; 3 judge calls a model" in printed.out
    assert "|rubric_judge|↑  |   1.0000|  0.0000|0.0000|" in printed.out
    assert f"up to {asked} judge calls" in printed.err


def test_a_judge_without_verdicts_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with judge_server(tmp_path / "judge", {"": "hmm"}) as server:
        assert main(["validate", "rubric_example", *judge(server)]) == 2

    assert "rubric_judge scored 0 of 3 references: 2 of 2 criteria have no verdict" in capfd.readouterr().out


def test_a_judge_that_is_lost_is_not_asked_for_the_other_bounds(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with judge_server(tmp_path / "judge", expire_after=1) as server:
        assert main(["validate", "rubric_example", *judge(server, max_connections="1")]) == 2
        asked = server.stats()["requests"]

    printed = capfd.readouterr()
    assert "references: its role stopped answering" in printed.out
    assert asked == 2, "the shuffled and the empty answers are not judged"


def test_a_judge_without_a_key_is_said_with_the_way_round_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    assert main(["validate", "rubric_example", "--judge", "openai,model=j"]) == 4
    assert "--bounds false" in capsys.readouterr().err


def test_nothing_to_check_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == 2
    assert "name what to check" in capsys.readouterr().err


def test_a_medium_that_nothing_here_decodes_is_a_warning_that_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(_media: Media) -> None:
        raise MissingExtraError("PIL", "image")

    monkeypatch.setattr(check, "_DECODERS", {"image": absent})
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: rows"), "rows/.keep": ""})
    (tmp_path / "rows/p.png").write_bytes(tiny_media.picture()[:-20])
    write_rows(tmp_path / "rows", {"input": "see <<image1>>", "reference": "r", "media": {"image1": "p.png"}})

    assert main(["validate", str(tmp_path / "t.yaml"), "--bounds", "false"]) == 0

    warning, last = capsys.readouterr().out.splitlines()
    assert warning.startswith("warning: image: not decoded, so that damaged ones are not found; PIL is not installed")
    assert install_command("image") in warning
    assert last == "0 errors, 1 warning"


def test_media_for_which_there_was_no_time_are_a_warning_that_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validate, "CheckTally", lambda: CheckTally(look=MediaLook(seconds=1e-9)))
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: rows"), "rows/.keep": ""})
    media = {"image1": "p.png", "image2": "q.png"}
    for at, name in enumerate(media.values()):
        (tmp_path / "rows" / name).write_bytes(tiny_media.picture() + bytes(at))
    write_rows(tmp_path / "rows", {"input": "see <<image1>> <<image2>>", "reference": "r", "media": media})

    assert main(["validate", str(tmp_path / "t.yaml"), "--bounds", "false"]) == 0

    warning, last = capsys.readouterr().out.splitlines()
    assert warning.startswith("warning: 1 of 2 media were decoded")
    assert warning.endswith("whether the others are damaged is not known [decoding]")
    assert last == "0 errors, 1 warning"


def test_what_several_tasks_inherit_from_one_line_is_one_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = "dataset_path: rows\nmetric_list: [{metric: rubric_judge}]\nmetadata: {version: 1}\n"
    tasks = {f"{name}.yaml": f"include: _base.yaml\ntask: {name}\n" for name in ("one", "two", "three")}
    write_files(tmp_path, {"_base.yaml": base, **tasks})
    write_rows(tmp_path / "rows", {"id": "a", "input": "q", "rubric": ["x"]})

    assert main(["validate", str(tmp_path), "--bounds", "false"]) == 0

    first, others, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{tmp_path}/_base.yaml:2: warning: task 'one': the metric 'rubric_judge'")
    assert others == f"{tmp_path}/_base.yaml:2: warning: the same for 2 other tasks [metrics]"
    assert last == "0 errors, 1 warning"
