import signal

import pytest

from mmeval.__main__ import main
from mmeval.cli.verbs import VERBS, dispatch, module_of
from mmeval.errors import PluginError
from tests.support.log_level import restored_log


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_is_terminated_as_it_is_interrupted(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def long_work(_args: object) -> int:
        signal.raise_signal(signal.SIGTERM)
        return 0

    words = {name: ["x"] for name in ("validate", "score", "merge", "report", "compare", "export", "prepare", "agent")}
    words |= {"metric": ["wer"], "init": ["metric", "x"], "check-backend": ["hf"]}
    words |= {"trace": ["x", "--task", "t", "--sample", "s"]}
    monkeypatch.setattr(module_of(verb), "run", long_work)
    with restored_log():
        assert main([verb, *words.get(verb, [])]) == 130
    assert capsys.readouterr().err.startswith("interrupted; ")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_plugin_that_ends_the_process_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(_args: object) -> int:
        raise SystemExit(0)

    monkeypatch.setattr("mmeval.cli.ls.run", leave)
    with pytest.raises(PluginError, match="exit code 0"):
        dispatch(["ls", "tasks"])
