import signal
from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.cli.verbs import VERBS, dispatch, module_of
from mmeval.errors import EXIT_USAGE, PluginError
from tests.support.cli import restored_log


@pytest.mark.parametrize(("verb", "words"), [("run", ""), ("try metric", "wer")])
def test_a_verb_is_terminated_as_it_is_interrupted(
    verb: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def long_work(_args: object) -> int:
        signal.raise_signal(signal.SIGTERM)
        return 0

    monkeypatch.setattr(module_of(verb), "run", long_work)
    with restored_log():
        assert main(f"{verb} {words}".split()) == 130
    assert capsys.readouterr().err.startswith("interrupted; ")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_folder_above_the_only_run_stands_for_it_in_every_verb(
    tmp_path: Path,
) -> None:
    task = "mmmg_audio_text_order"
    runs, out = str(tmp_path / "runs"), str(tmp_path / "out")
    command = f"-M reference -t {task} --data bundled --score_workers 0".split()
    command += ["--output_path", runs]
    assert main(command) == 0
    verbs = (
        ("score", runs, "--score_workers", "0"),
        ("report", runs, "--output_path", out),
        ("compare", runs, runs, "--report", "false"),
        ("export", runs, "--format", "mmmg", "--output_path", out),
        ("trace", runs, "--task", task, "--sample", "a_structure/0"),
    )
    assert [main(verb) for verb in verbs] == [0] * len(verbs)
    assert main([*command, "--run_id", "other"]) == 0
    assert [main(verb) for verb in verbs] == [4] * len(verbs), (
        "of two runs, one has to be named"
    )


def test_a_plugin_that_ends_the_process_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def leave(_args: object) -> int:
        raise SystemExit(0)

    monkeypatch.setattr("mmeval.cli.ls.run", leave)
    with pytest.raises(PluginError, match="exit code 0"):
        dispatch(["ls", "tasks"])


def test_the_help_fits_25_lines_of_80_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_no_words_at_all_are_answered_with_the_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["--help"])
    shown = capsys.readouterr().out
    assert main([]) == EXIT_USAGE
    assert capsys.readouterr().err == shown


def test_flags_without_a_verb_are_explained_as_those_of_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert main(["--tasks", "t", "--help"]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_fits_100_columns(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    main([*verb.split(), "--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_an_example(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*verb.split(), "--help"])
    assert f"\n    mmeval {verb} " in capsys.readouterr().out


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_its_exit_codes(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*verb.split(), "--help"])
    assert "exit code" in capsys.readouterr().out
