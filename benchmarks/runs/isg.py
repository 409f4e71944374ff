"""What ISG-Bench's judge costs: answers of five blocks, each asked about six pairs and
twelve pictures, in two waves.

The bare client sends the same requests, in the same waves. CPU is that of whole
processes, in which mmeval also reads, stores and scores the answers; the page of a run
has figures of its own (report_page).
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.measuring import Figure, measure
from benchmarks.server import serving
from mmeval.results import StoredRun
from mmeval.tasks.isg.layout import layout

SIZE = 2**18
CONNECTIONS = 8
PAIRS = (
    ("text1", "img1"),
    ("text2", "img2"),
    ("text3", "img2"),
    ("img1", "img2"),
    ("text1", "text2"),
    ("text2", "text3"),
)
LAYOUT = "TITIT"
CALLS = len(PAIRS) + 12 + 1
REPLIES = (
    {"contains": '"Judge": <a number', "reply": '{"Judge": 7}'},
    {"contains": '"overall_score": <', "reply": '{"overall_score": 7}'},
    {"reply": '{"Judge": "Yes"}'},
)


def figures(quick: bool) -> Iterator[Figure]:
    count = 100 if quick else 1_150
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "replies.jsonl").write_text(
            "".join(json.dumps(reply) + "\n" for reply in REPLIES)
        )
        url = stack.enter_context(
            serving(0.0, "--replies", str(folder / "replies.jsonl"))
        )
        write_rows(folder / "data", count)
        bare = measure([sys.executable, "-m", __name__, url, str(folder / "data")])
        small, ours = (
            measure(_ours(folder, url, f"of{n}", n), memory=True)
            for n in (count // 2, count)
        )
        each = " to ".join(
            f"{1000 * one.cpu / count / CALLS:.2f} ms" for one in (ours, bare)
        )
        yield Figure(
            "CPU a call against the bare client",
            ours.cpu / bare.cpu,
            1.5,
            "x",
            note=each,
        )
        held = f"{ours.shared:.0f} MiB"
        yield Figure(
            "memory of twice the answers",
            ours.shared / small.shared,
            1.2,
            "x",
            note=held,
        )
        start = time.perf_counter()
        list(layout(StoredRun(folder / f"of{count}" / "reference" / "default")))
        yield Figure("the layout", time.perf_counter() - start, 2.0, "s")


def write_rows(folder: Path, count: int) -> None:
    """Rows of one task with their own pictures: the head of a PNG, and noise that does
    not compress."""
    (folder / "images").mkdir(parents=True)
    noise = random.Random(22)
    head = (
        b"\x89PNG\r\n\x1a\n"
        b"\x00\x00\x00\rIHDR\x00\x00\x01\x00\x00\x00\x01\x00\x08\x02\x00\x00\x00"
    )
    with (folder / "ISG-Bench.jsonl").open("w") as rows:
        for at in range(count):
            names = iter(
                [f"images/{at}_{number}.png" for number in range(LAYOUT.count("I"))]
            )
            golden: list[dict[str, Any]] = []
            for number, kind in enumerate(LAYOUT):
                content = f"Step {number}. " * 20 if kind == "T" else next(names)
                golden.append(
                    {"type": "text" if kind == "T" else "image", "content": content}
                )
                if kind == "I":
                    (folder / content).write_bytes(head + noise.randbytes(SIZE))
            block = [
                {
                    "subject": f"<gen_{one}>",
                    "object": f"<gen_{other}>",
                    "Question": f"Does it {at} {one} {other}?",
                }
                for one, other in PAIRS
            ]
            image = [
                {
                    "image": f"<gen_img{1 + n % 2}>",
                    "Question": f"Is it {at} {n}?",
                    "id": n,
                    "Preliminary": parents,
                }
                for n in range(12)
                for parents in ([n - 6] if n > 5 else [],)
            ]
            predict = {
                "block_qa": {"questions": block},
                "image_qa": {"questions": image},
            }
            query = [{"type": "text", "content": f"Draw {at}."}]
            row = {
                "id": f"{at:04}",
                "Category": "HowTo",
                "Query": query,
                "Golden": golden,
                "predict": predict,
            }
            rows.write(json.dumps(row) + "\n")


def _ours(folder: Path, url: str, run: str, count: int) -> list[str]:
    return [
        sys.executable,
        "-m",
        "mmeval",
        "--tasks",
        "isg_howto",
        "--data_dir",
        str(folder / "data"),
        "--model",
        "reference",
        "--judge",
        "openai,model=j",
        "--judge_base_url",
        url,
        "--limit",
        str(count),
        "--max_connections",
        str(CONNECTIONS),
        "--output_path",
        str(folder / run),
        "--report",
        "false",
    ]


async def _bare(url: str, folder: Path) -> None:
    import aiohttp

    async def lane(session: aiohttp.ClientSession) -> None:
        for line in rows:
            row = json.loads(line)
            blocks: dict[str, list[dict[str, Any]]] = {"text": [], "img": []}
            for block in row["Golden"]:
                if block["type"] == "text":
                    blocks["text"].append({"type": "text", "text": block["content"]})
                else:
                    data = base64.b64encode(
                        (folder / block["content"]).read_bytes()
                    ).decode()
                    blocks["img"].append(
                        {
                            "type": "image_url",
                            "image_url": {"url": f"data:image/png;base64,{data}"},
                        }
                    )
            named = {
                f"<gen_{kind}{n}>": one
                for kind, own in blocks.items()
                for n, one in enumerate(own, 1)
            }
            asked = [
                [named[q["subject"]], named[q["object"]], q]
                for q in row["predict"]["block_qa"]["questions"]
            ]
            asked += [
                [named[q["image"]], q] for q in row["predict"]["image_qa"]["questions"]
            ]
            asked.append(
                [
                    *named.values(),
                    *blocks["text"],
                    *blocks["img"],
                    {"Question": "Grade it."},
                ]
            )
            for *shown, question in asked:
                words = {"type": "text", "text": f"{PROMPT}{question['Question']}"}
                body = {
                    "model": "j",
                    "temperature": 0,
                    "messages": [{"role": "user", "content": [*shown, words]}],
                }
                async with session.post(
                    f"{url}/chat/completions", json=body
                ) as response:
                    (await response.json())["choices"][0]["message"]["content"]

    with (folder / "ISG-Bench.jsonl").open() as rows:
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(lane(session) for _ in range(CONNECTIONS)))


PROMPT = (
    "How well does it do what the question asks? Reply with one JSON object and "
    "nothing else. " * 8
)


if __name__ == "__main__":
    asyncio.run(_bare(sys.argv[1], Path(sys.argv[2])))
