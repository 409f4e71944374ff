"""A task in the words of lm-evaluation-harness: filters of answers, in whole runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.media.parts import Interleaved
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.run.options import BackendSpec
from tests.support.cli import QUIET, mmeval, results, run_folder
from tests.support.task_folder import built, write_files, write_rows
from tests.support.toy import run_toy

pytestmark = pytest.mark.usefixtures("toys")

FILTERS = r"""repeats: 3
filter_list:
  - name: first
    filter: [{function: regex, regex_pattern: '[AB]'}, {function: take_first}]
  - name: vote
    filter:
      - {function: regex, regex_pattern: '[AB]'}
      - {function: majority_vote}
      - {function: take_first}
"""
HABITS = """task: trees
dataset_path: json
dataset_name: null
dataset_kwargs: {data_files: d/qa.json}
loader: datasets
output_type: generate_until
test_split: train
num_fewshot: 0
fewshot_config: {sampler: first_n}
columns:
  input: "{{ question.strip() }}"
  reference: "{{ ['A', 'B', 'C'][answer] }}"
generation_kwargs: {until: ["</s>"], do_sample: false, temperature: 0.0}
filter_list:
  - name: get-answer
    filter:
      - {function: regex, regex_pattern: "([ABC])"}
      - {function: take_first}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
metadata: {version: 2.0}
"""


class Wavering:
    """Answers B, B and A to each sample, in sentences, where the right one is B; and
    A, B and B to the second."""

    capabilities = Capabilities.of(("text",), ("text",))
    identity: ClassVar[dict[str, Any]] = {"backend": "wavering"}
    provenance: ClassVar[dict[str, Any]] = {}

    def answer(
        self,
        task: str,
        sample: Sample,
        repeat: int,
        request: Request,
    ) -> Response:
        letters = "ABB" if sample.id == "2" else "BBA"
        text = f"The answer is ({letters[repeat]})."
        return Response(output=Interleaved.from_text(text))

    async def close(self) -> None:
        """Nothing is held open."""


@pytest.fixture
def values(tmp_path: Path) -> Iterator[dict[str, Any]]:
    write_rows(tmp_path, *({"input": "q", "reference": "B"} for _ in range(2)))
    task = built(tmp_path, FILTERS)
    model = BackendSpec("wavering", instance=Wavering())
    outcome = run_toy(tmp_path, task, model=model)
    yield {result.metric: result for result in outcome.results}


def test_the_first_answer_alone_is_scored(values: dict[str, Any]) -> None:
    assert values["exact_match,first"].value == 0.5


def test_the_answers_to_a_sample_vote(values: dict[str, Any]) -> None:
    assert values["exact_match,vote"].value == 1


def test_answers_that_a_filter_leaves_out_are_inapplicable(
    values: dict[str, Any],
) -> None:
    numbers = values.values()
    counts = [(number.scored, number.inapplicable) for number in numbers]
    assert counts == [(2, 4), (2, 4)]


def test_a_task_of_lm_evaluation_harness_needs_columns_alone(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    rows = '[{"question": "Acorns? ", "answer": 1}, {"question": "Keys?", "answer": 0}]'
    write_files(tmp_path, {"t.yaml": HABITS, "d/qa.json": rows})
    where = ("-o", tmp_path / "runs", "--model_tag", "m", *QUIET)
    run = mmeval("--tasks", tmp_path / "t.yaml", "--model", "reference", *where)
    assert run.code == 0, run.err
    number = results(run_folder(tmp_path / "runs"))["results"]["trees"]
    assert number["exact_match,get-answer"] == 1
