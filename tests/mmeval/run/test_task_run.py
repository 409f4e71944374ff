from dataclasses import replace
from pathlib import Path

from mmeval.backend.capabilities import Capabilities
from mmeval.content.parts import PartKind
from mmeval.program.calls import MODEL
from mmeval.records.sample import Sample
from mmeval.run.task_run import scoring_plan, task_run
from tests.support.toy import Toy, task


def test_a_model_is_asked_for_the_kinds_that_it_gives_where_a_part_is_enough(tmp_path: Path) -> None:
    writer = Toy()
    writer.capabilities = Capabilities.of(("text",), ("text",))
    cases: tuple[tuple[tuple[PartKind, ...], bool, tuple[PartKind, ...]], ...] = (
        *((("text", "image"), True, ("text",)), (("text", "image"), False, ("text", "image"))),
        *((("image",), True, ("image",)), (("text",), True, ("text",))),
    )
    for wanted, partial, asked in cases:
        toy = replace(task(), wanted=lambda sample, kinds=wanted: kinds, partial_output=partial)  # type: ignore[misc]
        run = task_run(tmp_path, toy, scoring_plan(toy, tmp_path), {MODEL: writer}, scoring=False)
        assert run.wanted(Sample("s", ())) == asked
