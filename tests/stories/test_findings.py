"""A fault is the same finding wherever it is shown."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.findings.finding import Finding
from tests.support.cli import Ended, mmeval, results, run_folder
from tests.support.task_folder import write_files, write_rows

GOOD = {"id": "a", "input": "1 + 1", "reference": "2"}
METRICS = "  - metric: exact_match\n"
FAULTS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "no judge": ("missing_role", "  - metric: judge_yes_no\n", None),
    "no role of its own": (
        "missing_role",
        "  - metric: judge_yes_no\n    asks: {judge: gemini}\n",
        None,
    ),
    "no weights": ("missing_weights", "  - metric: speaker_gender\n", None),
    "weights by hand": ("missing_weights", "  - metric: lpips\n", None),
    "a number that is made of it": (
        "missing_role",
        "  - metric: judge_yes_no\n  - metric: overall\n    of: [judge_yes_no]\n",
        None,
    ),
    "a bad row": ("bad_sample", "", {"id": "b"}),
}


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest) -> tuple[str, str, dict[str, Any] | None]:
    return FAULTS[request.param]


def as_facts(rows: list[dict[str, Any]], kind: str) -> set[Finding]:
    """The findings of a kind. How bad one is depends on the command: a check does not
    know what a run tolerates."""
    found = map(Finding.from_json, rows)
    return {replace(one, severity="warning") for one in found if one.kind == kind}


def run(folder: Path, *words: str) -> Ended:
    return mmeval(
        "--tasks",
        "t.yaml",
        "--model",
        "reference",
        "--output_path",
        "runs",
        "--score_workers",
        "0",
        *words,
        cwd=folder,
        env={"MMEVAL_WEIGHTS_DIR": str(folder)},
    )


def test_run_score_check_and_dry_run_have_the_same_findings(
    tmp_path: Path, fault: tuple[str, str, dict[str, Any] | None]
) -> None:
    kind, metrics, row = fault
    listed = f"metric_list:\n{METRICS}{metrics}metadata: {{version: 1}}\n"
    write_files(tmp_path, {"t.yaml": f"task: t\ndataset_path: rows\n{listed}"})
    write_rows(tmp_path / "rows", GOOD, *([row] if row else []))

    checked = mmeval("check", "t.yaml", "--json", cwd=tmp_path)
    found = as_facts(json.loads(checked.out)["findings"], kind)
    assert found

    ahead = run(tmp_path, "--dry_run")
    run(tmp_path)
    made = as_facts(results(tmp_path / "runs")["mmeval"]["findings"], kind)
    folder = run_folder(tmp_path / "runs", "reference")
    mmeval("score", folder, "--score_workers", "0", cwd=tmp_path)
    scored = as_facts(results(tmp_path / "runs")["mmeval"]["findings"], kind)
    assert (made, scored) == (found, found)

    page = (folder / "report" / "index.html").read_text()
    for finding in found:
        words = " ".join(ahead.out.split())
        assert " ".join(finding.cause.split()) in words
        assert finding.cause[:20].replace('"', "&#34;") in page
