from collections.abc import Callable
from typing import Any

import pytest

from mmeval.metric.judge import ReplyError
from mmeval.model_backends.agents.unima import replies
from mmeval.model_backends.agents.unima.replies import (
    DataAnalysis,
    FaultyStep,
    ReportCheck,
)

PLAN = (
    '{"modalities_content": {"image": {"image2": "a hare"}}, "text_content": '
    '"<<image2>>", "tool_list": {}}'
)


@pytest.mark.parametrize(
    ("read", "text", "found"),
    [
        (
            replies.tcdc(["image1", "3d1"]),
            '{"tcdc": {"threeD1": "a cube", "image7": "?"}}',
            {"3d1": "a cube"},
        ),
        (replies.paraphrase, '{"paraphrased_question": "What?"}', "What?"),
        (
            replies.data_analysis,
            '{"needs_data_analysis": false, "data_report": {"a": 1}}',
            DataAnalysis(None),
        ),
        (
            replies.data_analysis,
            '{"needs_data_analysis": true, "data_report": {"a": 1}}',
            DataAnalysis({"a": 1}),
        ),
        (replies.verdict, '{"pass": true, "issues": null}', ReportCheck(True, [])),
        (
            replies.verdict,
            '{"pass": false, "issues": "no hare"}',
            ReportCheck(False, ["no hare"]),
        ),
        (
            replies.verdict,
            '{"pass": false, "issues": ["no hare", 7]}',
            ReportCheck(False, ["no hare", "7"]),
        ),
        (replies.fault, '{"faulty_step": 9}', FaultyStep(9, "")),
    ],
)
def test_a_reply_is_read(read: Callable[[str], Any], text: str, found: Any) -> None:
    assert read(text) == found


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (replies.tcdc(["image1"]), '{"tcdc": {"image1": ["a hare"]}}'),
        (replies.tcdc(["image1"]), '{"tcdc": "a hare"}'),
        (replies.paraphrase, '{"paraphrased_question": " "}'),
        (replies.data_analysis, '{"needs_data_analysis": "no"}'),
        (replies.data_analysis, '{"needs_data_analysis": true, "data_report": null}'),
        (replies.plan, PLAN.replace('"<<image2>>"', '" "')),
        (replies.plan, PLAN.replace('"a hare"', "7")),
        (replies.plan, PLAN.replace('{"image2": "a hare"}', '"a hare"')),
        (replies.plan, PLAN.replace(', "tool_list": {}', "")),
        (replies.verdict, '{"pass": 1}'),
        (replies.fault, '{"faulty_step": "3"}'),
        (replies.fault, '{"faulty_step": true}'),
    ],
)
def test_a_reply_of_another_form_is_refused(
    read: Callable[[str], Any], text: str
) -> None:
    with pytest.raises(ReplyError):
        read(text)


def test_a_plan_has_its_three_keys_alone() -> None:
    assert replies.plan(PLAN[:-1] + ', "more": 1}').keys() == {
        "modalities_content",
        "text_content",
        "tool_list",
    }
