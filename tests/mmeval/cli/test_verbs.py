import pytest

from mmeval.__main__ import main
from mmeval.cli.verbs import REFUSED_VERBS, VERBS


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_that_is_named_has_a_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0

    assert capsys.readouterr().out.startswith("usage: mmeval")


def test_the_help_names_the_verbs_and_none_that_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])

    verbs = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ") and line.split()]
    assert set(VERBS) <= set(verbs)
    assert not set(REFUSED_VERBS) & set(verbs)


@pytest.mark.parametrize("verb", sorted(REFUSED_VERBS))
def test_a_verb_that_is_not_there_is_refused_by_name(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "something"]) == 2

    assert capsys.readouterr().err == f"error: mmeval {verb}: {REFUSED_VERBS[verb]}\n"


def test_a_mistyped_verb_is_answered_with_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validat"]) == 2

    assert 'did you mean "validate"' in capsys.readouterr().err


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from mmeval import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mmeval {__version__}\n"
