"""Files that a wheel lacks."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.authoring.package.load import faults
from mmeval.authoring.package.wheel import UnpackedWheel
from mmeval.run.options import RunOptions
from tests.mmeval.authoring.package.test_wheel import (
    WHEEL,
    built,
    check,
    found_in,
    project,
)
from tests.support.cli import mmeval


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs in a process that sees the wheel runs in this one, which sees it for so
    long."""

    def python(self: UnpackedWheel, *words: str) -> subprocess.CompletedProcess[str]:
        with pytest.MonkeyPatch.context() as patched:
            patched.syspath_prepend(str(self.folder))
            plugins._registered.cache_clear()
            try:
                out = (
                    mmeval(*words[1:]).out
                    if words[0] == "mmeval"
                    else "\n".join(faults(str(self.folder)))
                )
            finally:
                for name in [
                    name for name in sys.modules if name.partition(".")[0] == "her_own"
                ]:
                    del sys.modules[name]
        plugins._registered.cache_clear()
        return subprocess.CompletedProcess(words, 0, out)

    monkeypatch.setattr(UnpackedWheel, "python", python)
    monkeypatch.setattr(
        "build.ProjectBuilder.build",
        lambda project, _, folder: str(Path(folder) / WHEEL),
    )
    monkeypatch.setattr(
        "mmeval.authoring.bounds.RunOptions", partial(RunOptions, score_workers=0)
    )


def test_a_missing_file_is_named_with_the_setting_that_adds_it_and_its_task_fails(
    tmp_path: Path,
) -> None:
    folder = project("benchmark", tmp_path)
    built(folder, without=[".jinja", ".jsonl"])
    code, found = found_in(folder)
    assert code == 2
    lost = [one for one in found if one.subject.file]
    assert {one.severity for one in lost} == {"error"}
    for suffix, file in (("jinja", "prompts/rubric.jinja"), ("jsonl", "test.jsonl")):
        (cause,) = {one.cause for one in lost if one.subject.file.endswith(file)}
        assert f'"her_own" = ["**/*.{suffix}"]' in cause
    assert "metric_list[1].prompt" in check(folder).out
