from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.findings.finding import Finding, Subject
from mmeval.media.parts import PartKind
from mmeval.records.sample import Sample
from mmeval.run.options import BackendSpec
from mmeval.run.undeclared import undeclared
from mmeval.task.task import FixedKinds, SampleKinds, Task
from tests.support.toy import sample, task

SERVED = replace(
    Capabilities.of(("text",), ("text",), "single"),
    declarable=frozenset(("text", "image", "audio")),
)


def wanting(*kinds: PartKind, name: str = "t", partial: bool = True) -> Task:
    return replace(task(name), output_kinds=FixedKinds(kinds), partial_output=partial)


def found(
    *tasks: Task,
    known: Capabilities = SERVED,
    samples: Iterable[Sample] = (),
    **args: Any,
) -> list[Finding]:
    model = BackendSpec("openai", {"model": "m", **args})
    return list(undeclared(tasks, lambda _: samples, known, model))


def test_a_kind_that_is_not_asked_for_has_the_arguments_that_declare_it() -> None:
    (finding,) = found(wanting("text", "image"))
    assert (finding.kind, finding.subject) == (
        "unsupported",
        Subject("t", role="model"),
    )
    assert finding.remedy == "--model_args model=m,outputs=text+image"


def test_one_remedy_declares_what_all_tasks_lack() -> None:
    findings = found(
        wanting("text", "image"), wanting("text", "image", "audio", name="u")
    )
    assert {one.remedy for one in findings} == {
        "--model_args model=m,outputs=text+image+audio"
    }
    assert [one.subject.task for one in findings] == ["t", "u"]


def test_samples_that_state_what_they_want_are_read() -> None:
    asked = sample("s", output_modalities=["text", "image"])
    of_samples = replace(wanting(), output_kinds=SampleKinds("t"))
    assert len(found(of_samples, samples=[asked, sample("without")])) == 1


def test_a_kind_for_which_an_agent_has_no_tool_has_the_role_to_add() -> None:
    known = Capabilities.of(("text",), ("text",))
    known = replace(known, by_role={"image": "text_to_image"})
    (finding,) = found(wanting("text", "image"), known=known)
    assert finding.remedy == "--role text_to_image=BACKEND"


@pytest.mark.parametrize(
    ("asked", "args"),
    [
        (wanting("text", "video"), {}),
        (wanting("text", "image", partial=False), {}),
        (wanting("text", "image"), {"outputs": "text"}),
        (wanting("text"), {}),
    ],
    ids=["not declarable", "not partial", "declared", "given"],
)
def test_nothing_is_found_where_a_flag_would_not_help(
    asked: Task, args: dict[str, Any]
) -> None:
    assert found(asked, **args) == []
