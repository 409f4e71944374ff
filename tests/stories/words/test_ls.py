from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from mmeval.model_backends.hf import Adapter
from tests.support.task_folder import installed, task
from tests.support.words import TASK, TINY, Case, shown

GROUP = "group: both\ngroup_alias: Both\ntask: [few_rows]\ntag: [few]\n"
BROKEN = (
    "[mmeval.metrics]\nbroken = no_such_module:thing\n[mmeval.hf_adapters]\nunseen = "
    "tests.stories.words.test_ls:Unrun\n"
)
TWINS = {"left": {"a.yaml": task("same_name")}, "right": {"b.yaml": task("same_name")}}
CASES = {
    "a name that two packages claim": Case("check same_name"),
    **{
        words or "no kind": Case(f"ls {words}")
        for words in (
            "",
            "metrix",
            "models",
            "metrics wer",
            "metrics broken",
            "backends reference",
            "adapters unseen",
            "adapters emu3",
            "loaders interleaved",
            "protocols episode",
            "aggregators mean",
            "layouts mmmg",
            "tools text_to_image",
            "formats mmmg",
            "tasks nothing-like-it",
            "backends isg_agent",
            "prompts isg_agent",
            "prompts mme_unify_vcot",
            "prompts nothing-like-it",
        )
    },
    **{
        f"{kind} of a folder": Case(
            f"ls {kind} {pattern} --include_path .",
            {
                "t.yaml": TASK.replace("task: t", "task: few_rows\ntag: few"),
                "g.yaml": GROUP,
            },
        )
        for kind, pattern in (
            ("tasks", "few_rows"),
            ("groups", "both"),
            ("tags", "few"),
        )
    },
    "a broken task file": Case(
        "ls tasks bad --include_path .",
        {**TINY, "bad.yaml": "task: bad\nmetric_list: [\n"},
    ),
    "benchmarks, one with a licence": Case(
        "ls tasks --include_path .",
        {
            **TINY,
            "t.yaml": TASK.replace("task: t", "task: few_rows").replace(
                "1}", "2.1, license: 'CC-BY-4.0; mine'}"
            ),
        },
    ),
    "a task that overrides another": Case(
        "ls tasks rubric_example --include_path .",
        {"t.yaml": TASK.replace("task: t", "task: rubric_example")},
    ),
}


class Unrun(Adapter):
    """Speaks with a model that does not exist."""

    verified = False


@pytest.mark.parametrize("name", CASES)
def test_ls(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    with (
        installed(tmp_path / "site", monkeypatch, {"odd": {}}, more=BROKEN),
        installed(tmp_path / "twins", monkeypatch, TWINS),
    ):
        (tmp_path / "here").mkdir()
        assert (
            shown(CASES[name], tmp_path / "here").replace(str(tmp_path), "SITE")
            == snapshot
        )
