import hashlib
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.servers import FakeHub
from tests.support.tiny_media import picture
from tests.support.words import TASK, TINY, Case, shown


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


COMMIT = "a" * 40
ROWS = (
    b'{"input": "<<image1>>", "media": {"image1": "img/a.png"}, "reference": "oak"}\n'
)
HUB = {
    "me/trees": {COMMIT: {"test.jsonl": ROWS, "img/a.png": picture()}},
    "me/gated": {COMMIT: {"test.jsonl": ROWS}},
}
TREES = {"t.yaml": TASK.replace("rows", "me/trees")}
PREPARE = "prepare t.yaml"
HAND = (
    "by_hand: [{path: gold, source: the page of the authors, note: a form has to be "
    "filled in}]\n"
)
EXPECTED = (
    "{rows: 9}",
    "{samples: 9}",
    "{media: {image: 4}}",
    f"{{files: {{test.jsonl: {'0a' * 32}}}}}",
)
GROUP = "group: g\ntask: [t]\nexpected: {rows: 5}\n"
SCRIPT = 'JUDGE = "Is there a tree?"\nCOUNT = "How few trees?"\n'
RELEASED = f"""\
sources: {{trees: {{repository: me/trees, commit: {COMMIT}, license: none}}}}
files:
  - source: trees
    path: judge.py
    prompts:
      - {{id: trees.judge, recipe: 'name :JUDGE', sha256: {_sha("Is there a tree?")}}}
      - {{id: trees.count, recipe: 'name :COUNT', sha256: {_sha("How many trees?")}}}
  - {{source: trees, path: gone.py, prompts: [{{id: trees.gone, recipe: file, sha256: {_sha("")}}}]}}
figures: [{{id: trees.task, shown_in: figure 3}}]
"""
PROMPTS = {**TINY, "released.yaml": RELEASED, "clone/judge.py": SCRIPT}
CASES = {
    "released prompts of a clone": Case(
        f"{PREPARE} --prompts --prompts_from clone", PROMPTS
    ),
    "released prompts that would be fetched": Case(
        f"{PREPARE} --prompts --dry_run", PROMPTS
    ),
    "released prompts without a catalogue": Case(f"{PREPARE} --prompts"),
    "released prompts and weights": Case(f"{PREPARE} --prompts --weights"),
    "a clone without --prompts": Case(f"{PREPARE} --prompts_from clone", PROMPTS),
    "a clone that is absent": Case(f"{PREPARE} --prompts --prompts_from absent"),
    "a data set of the hub": Case(PREPARE, TREES),
    "a data set that is here": Case(PREPARE, TREES, before=(PREPARE,)),
    "a dry run": Case(f"{PREPARE} --dry_run", TREES),
    "a data set in a folder": Case(f"{PREPARE} --data_dir mine", TREES),
    "a folder beside the file": Case(PREPARE),
    "a commit": Case(PREPARE, {"t.yaml": f"{TREES['t.yaml']}revision: {COMMIT}\n"}),
    "a data set that is absent": Case(
        PREPARE, {"t.yaml": TASK.replace("rows", "me/absent")}
    ),
    "a data set that is gated": Case(
        PREPARE, {"t.yaml": TASK.replace("rows", "me/gated")}
    ),
    "offline": Case(PREPARE, TREES, env={"HF_HUB_OFFLINE": "1"}),
    "no network": Case(PREPARE, TREES, env={"HF_ENDPOINT": "http://127.0.0.1:9"}),
    "a data set that is damaged": Case(
        PREPARE,
        TREES,
        before=(PREPARE,),
        meanwhile=lambda folder: next((folder / "hub").rglob("a.png")).write_bytes(
            bytes(len(picture()))
        ),
    ),
    "a medium that is missing": Case(PREPARE, {**TINY, "rows/test.jsonl": ROWS}),
    **{
        f"expected: {wanted}": Case(
            PREPARE, {**TINY, "t.yaml": f"{TASK}expected: {wanted}\n"}
        )
        for wanted in EXPECTED
    },
    "a group that expects more": Case("prepare g.yaml", {**TINY, "g.yaml": GROUP}),
    "by hand": Case(PREPARE, {"t.yaml": TASK.replace("rows", "./gold") + HAND}),
    "by hand, into a folder": Case(
        f"{PREPARE} --data_dir mine", {"t.yaml": TASK + HAND, "mine/x": ""}
    ),
    "a file in the place of the folder": Case(f"{PREPARE} --data_dir t.yaml"),
    "a disk that is too small": Case(PREPARE, TREES),
    "no task": Case("prepare"),
}


@pytest.mark.parametrize("name", CASES)
def test_prepare(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    case = CASES[name]
    sizes = {"img/a.png": 10**18} if "disk" in name else {}
    with FakeHub(HUB, gated=frozenset({"me/gated"}), sizes=sizes) as hub:
        env = {
            "HF_ENDPOINT": hub.url,
            "HF_HUB_OFFLINE": "",
            "NO_PROXY": "*",
            **case.env,
        }
        # the library reads them once, when it is imported
        read = {
            "ENDPOINT": env["HF_ENDPOINT"],
            "HUGGINGFACE_CO_URL_TEMPLATE": env["HF_ENDPOINT"]
            + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": "hub",
        }
        for constant, value in read.items():
            monkeypatch.setattr(f"huggingface_hub.constants.{constant}", value)
        assert shown(case._replace(env=env), tmp_path) == snapshot
