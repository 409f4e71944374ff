import io
from dataclasses import replace

from mmeval.records.sample import Message, Sample, message, user
from mmeval.report.prompts import first_prompt, write_prompts
from mmeval.task.task import Selection
from tests.support import toy
from tests.support.outcomes import task


def test_the_first_prompt_of_each_task_is_shown_as_the_model_sees_it() -> None:
    out = io.StringIO()
    write_prompts(Selection((task("a"), task("b"))), out)
    assert out.getvalue() == (
        "--- a, sample s0, wants text\n[user]\nquestion 0\n---\n--- b, sample s0, wants text\n[user]\nquestion 0\n---\n"
    )


def test_every_message_is_shown_with_its_role() -> None:
    def prompt(sample: Sample) -> tuple[Message, ...]:
        return (message("system", "be brief"), *sample.input)

    assert "[system]\nbe brief\n[user]\nquestion 0" in first_prompt(replace(task("a"), prompt=prompt))


def test_the_first_sample_is_one_that_the_task_keeps() -> None:
    none_kept = replace(task("a"), filter={"level": "hard"})
    assert first_prompt(none_kept) == "--- a: no sample passes the task's filter and can be asked"


def test_the_first_sample_is_one_that_can_be_asked() -> None:
    bad = Sample("torn", (), fault="no question")
    shown = first_prompt(toy.task("a", [bad, toy.sample("whole")]))
    assert shown.startswith("--- a, sample whole, wants text")


def test_a_prompt_cannot_steer_the_terminal() -> None:
    hostile = replace(task("a"), prompt=lambda sample: (user("\x1b[2Jgone"),))
    assert "\x1b" not in first_prompt(hostile)
