from dataclasses import replace
from pathlib import Path

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.create import create_backend
from mmeval.media.parts import Interleaved, PartKind, text_part
from mmeval.program.calls import MODEL
from mmeval.records.sample import Sample
from mmeval.run.task_run import score_definition, scoring_plan, task_run
from mmeval.task.build import build
from mmeval.task.task import Task
from tests.support.task_folder import parsed, write_rows
from tests.support.toy import Toy, task


def test_a_model_is_asked_for_the_kinds_that_it_gives_where_a_part_is_enough(
    tmp_path: Path,
) -> None:
    writer = Toy()
    writer.capabilities = Capabilities.of(("text",), ("text",))
    cases: tuple[tuple[tuple[PartKind, ...], bool, tuple[PartKind, ...]], ...] = (
        (("text", "image"), True, ("text",)),
        (("text", "image"), False, ("text", "image")),
        (("image",), True, ("image",)),
        (("text",), True, ("text",)),
    )
    for wanted, partial, asked in cases:
        toy = replace(
            task(),
            output_kinds=lambda sample, kinds=wanted: kinds,  # type: ignore[misc]
            partial_output=partial,
        )
        run = task_run(
            tmp_path, toy, scoring_plan(toy, tmp_path), {MODEL: writer}, scoring=False
        )
        assert run.wanted(Sample("s", ())) == asked


def test_answers_of_a_model_are_recorded_as_blocks_and_those_made_elsewhere_as_they_are(
    tmp_path: Path,
) -> None:
    answer = Interleaved((text_part(" a\n"), text_part("b "), text_part(" ")))
    toy = replace(task(), blocks=True)
    for name, texts in (
        ("toy", ["a\nb"]),
        ("reference", [" a\n", "b ", " "]),
        ("empty", [" a\n", "b ", " "]),
    ):
        backends = {MODEL: create_backend(name, {})}
        run = task_run(
            tmp_path, toy, scoring_plan(toy, tmp_path), backends, scoring=False
        )
        assert [part.text for part in run.recorded(answer).parts] == texts
        run.close()
    run = task_run(
        tmp_path, task(), scoring_plan(toy, tmp_path), {MODEL: Toy()}, scoring=False
    )
    assert run.recorded(answer) is answer


GEMINI = "{judge: gemini}"
"""The key ``asks`` of a metric: which role of the run plays a role that the metric
names."""


def built(
    folder: Path, asks: str, *, roles: tuple[str, ...] = (), more: str = ""
) -> Task:
    entry = f"metric_list: [{{metric: toy_verdict, asks: {asks}}}]\n"
    write_rows(folder / "data", {"id": "s0", "input": "question 0"})
    text = f"task: t\ndataset_path: data\nmetadata: {{version: 1}}\n{entry}{more}"
    return build(parsed(folder, text), roles=frozenset(roles))


def key(folder: Path, task: Task) -> str:
    run = task_run(folder, task, scoring_plan(task, folder), {}, scoring=False)
    try:
        return run.judging_key(task.metrics[0].bound)
    finally:
        run.close()


def test_the_role_that_is_asked_names_the_score_set_and_the_verdicts(
    tmp_path: Path,
) -> None:
    backends = {
        role: create_backend("toy", {"model": role}) for role in ("judge", "gemini")
    }
    usual = built(tmp_path, "{}", roles=("judge", "gemini"))
    other = built(tmp_path, GEMINI, roles=("judge", "gemini"))
    definitions = [
        score_definition(task, backends)["metrics"][0] for task in (usual, other)
    ]
    heats = (f"roles: {{gemini: {{temperature: {heat}}}}}\n" for heat in (1, 0))
    (lacks,) = built(tmp_path, GEMINI, roles=("judge",)).metrics[0].lacks
    assert (lacks.subject.role, other.metrics[0].lacks) == ("gemini", ())
    assert built(tmp_path, "{judge: judge}").metrics[0].bound == usual.metrics[0].bound
    assert [list(one["roles"]) for one in definitions] == [["judge"], ["gemini"]]
    assert ("asks" in definitions[0], definitions[1]["asks"]) == (
        False,
        {"judge": "gemini"},
    )
    keys = [
        key(tmp_path, built(tmp_path, GEMINI, roles=("gemini",), more=heat))
        for heat in heats
    ]
    assert len({key(tmp_path, usual), key(tmp_path, other), *keys}) == 4, (
        "parameters are those of the role asked"
    )
