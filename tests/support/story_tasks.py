"""Task files of a small multi-turn benchmark, written into a folder for
``--include_path``."""

import json
from pathlib import Path

TEMPLATE = """\
loader: interleaved
dataset_path: data
output_modalities: [text, image]
generation_kwargs: {temperature: 1.0, max_gen_toks: 64}
repeats: 2
metadata: {version: 1.0}
metric_list:
  - metric: strict_structure
  - metric: lenient_structure
"""
TASKS = {
    "tale_turns": "include: _tale.yaml\ntask: tale_turns\ntest_split: turns\nprotocol: "
    "episode\n",
    "tale_first": "include: _tale.yaml\ntask: tale_first\ntest_split: single\n",
    "tale_again": "include: _tale.yaml\ntask: tale_again\ntest_split: single\n",
}


def write_story_tasks(folder: Path, rows: int) -> Path:
    """Three tasks: an episode of three turns whose prompts carry the earlier answers
    and pictures, and two that ask the same questions, so that they share their
    generations."""
    data = folder / "data"
    data.mkdir(parents=True)
    (folder / "_tale.yaml").write_text(TEMPLATE)
    for name, text in TASKS.items():
        (folder / f"{name}.yaml").write_text(text)
    wishes = (
        "Begin a tale about thing {i}, with a picture.",
        "Go on, with a picture.",
        "End it, with a picture.",
    )
    reference = "Once <<image1>> upon <<image2>> a time <<image3>>"
    turns, single = [], []
    for i in range(rows):
        messages = [{"role": "user", "content": wish.format(i=i)} for wish in wishes]
        turns.append({"id": f"t{i}", "input": messages, "reference": reference})
        single.append(
            {
                "id": f"s{i}",
                "input": f"Draw thing {i} and name it.",
                "reference": "Thing <<image1>>",
            }
        )
    for split, written in (("turns", turns), ("single", single)):
        (data / f"{split}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in written)
        )
    return folder
