from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import DATA, TASK, TINY, Case, shown

RUBRIC = {**TINY, "t.yaml": TASK.replace("exact_match", "rubric_judge")}
CASES = {
    "a task": Case("doctor t.yaml"),
    "a task whose data are missing": Case(
        "doctor t.yaml", {"t.yaml": TASK.replace("rows", "./gone")}
    ),
    "a task of the hub": Case(
        "doctor t.yaml",
        {"t.yaml": TASK.replace("rows", "me/absent"), "bundled/test.jsonl": DATA},
    ),
    "a row that cannot be asked": Case(
        "doctor t.yaml", {**TINY, "rows/test.jsonl": '{"id": "a"}\n{"input": "q"}\n'}
    ),
    "rows that are no JSON": Case("doctor t.yaml", {**TINY, "rows/test.jsonl": "{\n"}),
    "a metric without its judge": Case("doctor t.yaml", RUBRIC),
    "a metric without its judge, --strict": Case("doctor t.yaml --strict", RUBRIC),
    "a model that gives no sound": Case(
        "doctor t.yaml --model openai --model_args "
        "model=m,base_url=http://127.0.0.1:9/v1",
        {**TINY, "t.yaml": f"{TASK}output_modalities: [text, audio]\n"},
    ),
    "a model without a key": Case(
        "doctor t.yaml --model openai --model_args model=m", env={"OPENAI_API_KEY": ""}
    ),
    "a captioner that takes no sound": Case(
        "doctor t.yaml --judge empty --captioner "
        "openai,model=c,base_url=http://127.0.0.1:9/v1,inputs=text+image",
        {**TINY, "t.yaml": TASK.replace("exact_match", "semantic_correctness")},
    ),
}
OURS = ("Task ", "Models")
"""The sections that do not depend on the machine."""


def asked(text: str) -> str:
    """The sections of tasks and models alone, and the last line."""
    sections = text.split("\n\n") if "\n\n" in text else text.split("\n")
    return "\n".join(
        section
        for section in sections
        if section.startswith(OURS) or section == sections[-1]
    )


@pytest.mark.parametrize("name", CASES)
def test_doctor(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    text = shown(CASES[name], tmp_path)
    assert (asked(text) if "\nTask " in text else text) == snapshot
