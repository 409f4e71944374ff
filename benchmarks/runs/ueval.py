"""What a judge of pictures costs: answers of three pictures of 1 MiB, each asked about
by ten criteria.

Five criteria are about the text, five about the pictures. The bare client sends the
same requests and encodes the pictures of an answer once. CPU is that of whole
processes, in which mmeval also reads, stores and scores the answers.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import Figure, measure
from benchmarks.server import serving

PICTURES, CRITERIA = 3, 5
SIZE = 2**20
CONNECTIONS = 8


def figures(quick: bool) -> Iterator[Figure]:
    count = 100 if quick else 1_000
    reply = json.dumps({"criteria_met": True}).replace("{", "{{").replace("}", "}}")
    with tempfile.TemporaryDirectory() as name, serving(0.0, "--reply", reply) as url:
        folder = Path(name)
        write_rows(folder / "data", count)
        bare = measure([sys.executable, "-m", __name__, url, str(folder / "data")])
        small, ours = (
            measure(_ours(folder, url, f"of{n}", n), memory=True)
            for n in (count // 2, count)
        )
        each = " to ".join(
            f"{1000 * one.cpu / count / (2 * CRITERIA):.2f} ms" for one in (ours, bare)
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


def write_rows(folder: Path, count: int) -> None:
    """Rows of one task with their own pictures: the head of a PNG, and noise that does
    not compress."""
    (folder / "img").mkdir(parents=True)
    noise = random.Random(21)
    head = (
        b"\x89PNG\r\n\x1a\n"
        b"\x00\x00\x00\rIHDR\x00\x00\x04\x00\x00\x00\x04\x00\x08\x02\x00\x00\x00"
    )
    with (folder / "test.jsonl").open("w") as rows:
        for at in range(count):
            names = [f"img/{at}_{number}.png" for number in range(PICTURES)]
            for name in names:
                (folder / name).write_bytes(head + noise.randbytes(SIZE))
            criteria = [f"criterion {number} of {at}" for number in range(CRITERIA)]
            row = {
                "id": at,
                "task": "art",
                "prompt": f"Draw {at}.",
                "text_ref": "A step. " * 50,
                "image_ref": names,
            }
            rows.write(
                json.dumps({**row, "text_rubrics": criteria, "image_rubrics": criteria})
                + "\n"
            )


def _ours(folder: Path, url: str, run: str, count: int) -> list[str]:
    return [
        sys.executable,
        "-m",
        "mmeval",
        "--tasks",
        "ueval_art",
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
    ]


async def _bare(url: str, folder: Path) -> None:
    import aiohttp

    async def lane(session: aiohttp.ClientSession) -> None:
        for line in rows:
            row = json.loads(line)
            text = {"type": "text", "text": row["prompt"] + row["text_ref"]}
            encoded = [
                base64.b64encode((folder / name).read_bytes()).decode()
                for name in row["image_ref"]
            ]
            urls = ({"url": f"data:image/png;base64,{data}"} for data in encoded)
            pictures: list[dict[str, Any]] = [
                {"type": "image_url", "image_url": one} for one in urls
            ]
            for label, parts in (("text_rubrics", []), ("image_rubrics", pictures)):
                for criterion in row[label]:
                    content = [text, {"type": "text", "text": criterion}, *parts]
                    body = {
                        "model": "j",
                        "messages": [{"role": "user", "content": content}],
                    }
                    async with session.post(
                        f"{url}/chat/completions", json=body
                    ) as response:
                        (await response.json())["choices"][0]["message"]["content"]

    with (folder / "test.jsonl").open() as rows:
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(lane(session) for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    asyncio.run(_bare(sys.argv[1], Path(sys.argv[2])))
