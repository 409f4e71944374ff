from dataclasses import replace

import pytest

from mmeval.records.sample import Sample, message, user
from mmeval.report.prompts import first_prompt
from mmeval.task.task import Task
from tests.support import toy
from tests.support.outcomes import task

BRIEF = replace(
    task("a"), prompt=lambda sample: (message("system", "be brief"), *sample.input)
)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (BRIEF, "[system]\nbe brief\n[user]\nquestion 0"),
        (replace(task("a"), filter={"level": "hard"}), "--- a: no valid sample "),
        (
            toy.task(
                "a", [Sample("torn", (), fault="no question"), toy.sample("whole")]
            ),
            "sample whole, wants text",
        ),
        (
            replace(task("a"), prompt=lambda sample: (user("\x1b[2Jgone"),)),
            "\n [2Jgone\n",
        ),
    ],
    ids=["every message", "none kept", "the first sound", "hostile"],
)
def test_a_prompt_shows_every_message_of_the_first_sample_that_can_be_asked(
    given: Task, shown: str
) -> None:
    assert shown in first_prompt(given)
