from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.program.calls import MODEL
from mmeval.records.sample import Sample
from mmeval.run.task_run import scoring_plan, task_run
from tests.support.toy import Toy, task


@pytest.mark.parametrize(
    ("wanted", "partial", "asked"),
    [
        (("text", "image"), True, ("text",)),
        (("text", "image"), False, ("text", "image")),
        (("image",), True, ("image",)),
        (("text",), True, ("text",)),
    ],
    ids=["the kinds it gives", "all unless allowed", "where it gives none", "where it gives all"],
)
def test_a_model_is_asked_for(tmp_path: Path, wanted: Any, partial: bool, asked: Any) -> None:
    toy = replace(task(), wanted=lambda sample: wanted, partial_output=partial)
    writer = Toy()
    writer.capabilities = Capabilities.of(("text",), ("text",))
    run = task_run(tmp_path, toy, scoring_plan(toy, tmp_path), {MODEL: writer}, scoring=False)
    assert run.wanted(Sample("s", ())) == asked
