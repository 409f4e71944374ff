"""A prompt without ``form`` is accepted where the metric can read the released reply."""

from typing import Any

import pytest

from mmeval.metric import bind, load_metric
from mmeval.program import PromptError

FORMLESS = {"text": "Judge it, and reply as you like."}


@pytest.mark.parametrize(
    ("metric", "switches"),
    [
        ("isg_image", {"prompt": FORMLESS}),
        ("isg_block", {"texts_prompt": FORMLESS}),
        ("isg_holistic", {"prompt": FORMLESS}),
        ("ueval_rubric", {"text_prompt": FORMLESS}),
        ("text_quality", {"dimensions_prompt": FORMLESS}),
        ("code_quality", {"dimensions_prompt": FORMLESS}),
        ("document_quality", {"prompt": FORMLESS, "rubric": "overall"}),
    ],
)
def test_a_prompt_whose_reply_is_released_needs_no_form(
    metric: str, switches: dict[str, Any]
) -> None:
    bound = bind(load_metric(metric), switches)
    assert FORMLESS["text"] in str(bound.prompts)


@pytest.mark.parametrize(
    ("metric", "switches"),
    [
        ("judge_grade", {"prompt": FORMLESS, "criterion": "c"}),
        ("code_quality", {"prompt": FORMLESS}),
        ("document_quality", {"prompt": FORMLESS, "rubric": "grade"}),
    ],
)
def test_any_other_prompt_without_a_form_is_refused_with_the_reason(
    metric: str, switches: dict[str, Any]
) -> None:
    with pytest.raises(PromptError, match="the format of the reply"):
        bind(load_metric(metric), switches)
