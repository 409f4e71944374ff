"""A finished run of a small judged task with pictures, and the command that made it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.cli import QUIET, Ended, environment, mmeval, openai
from tests.support.judges import judge
from tests.support.mock_openai_server import MockServer
from tests.support.tiny_media import picture

REPLY = '{"grade": 4}'
"""What the model and the judge reply to everything."""
TEMPLATE = REPLY.replace("{", "{{").replace("}", "}}")
"""The same as a reply template of the server."""
TASK = """\
task: look
loader: interleaved
dataset_path: data
output_modalities: [text]
generation_kwargs: {max_gen_toks: 16}
metadata: {version: 1.0}
metric_list:
  - metric: exact_match
  - metric: judge_grade
"""
PROMPT = "Grade {{ input }} {{ answer }} {{ form }}\n"
ROWS = 3


class FinishedRun:
    """A finished run in a folder with its task, data and prompts."""

    def __init__(self, folder: Path, server: MockServer) -> None:
        self.folder = folder
        self._server = server
        (folder / "data" / "img").mkdir(parents=True)
        (folder / "prompts").mkdir()
        (folder / "prompts" / "judge_grade.md").write_text(PROMPT)
        self.write_task(TASK)
        for name in ("a", "b"):
            self.picture(name).write_bytes(picture())
        self.write_rows(self.usual_rows())
        ended = self.again()
        assert ended.code == 0, ended.err

    def write_task(self, text: str) -> None:
        (self.folder / "look.yaml").write_text(text)

    def picture(self, name: str) -> Path:
        return self.folder / "data" / "img" / f"{name}.png"

    def usual_rows(self) -> list[dict[str, Any]]:
        rows = []
        for number in range(ROWS):
            question = {
                "text": f"{number} <<image1>>",
                "media": {"image1": "img/a.png"},
            }
            reference = REPLY if number else "other"
            rows.append(
                {
                    "id": str(number),
                    "input": question,
                    "reference": reference,
                    "level": number % 2,
                }
            )
        return rows

    def write_rows(self, rows: Sequence[object]) -> None:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / "data" / "test.jsonl").write_text(lines)

    def again(self, *flags: str | Path) -> Ended:
        """Gives the same command, with further flags."""
        return mmeval(*self.command, *flags, env=environment())

    @property
    def command(self) -> tuple[str | Path, ...]:
        """The command that made the run."""
        return (
            "--tasks",
            "look",
            "--include_path",
            self.folder,
            "--output_path",
            self.folder / "runs",
            "--judge_prompts",
            self.folder / "prompts",
            *QUIET,
            *openai(self._server, model="m", inputs="text+image", outputs="text"),
            *judge(self._server),
        )

    def score(self, *flags: str) -> Ended:
        return mmeval("score", self.path, *QUIET, *flags, env=environment())

    @property
    def path(self) -> Path:
        return self.folder / "runs" / "m" / "default"

    @property
    def results(self) -> list[Path]:
        """The results files, the oldest first. A command that answers from what is kept
        writes none."""
        return sorted(self.path.glob("results_*.json"))

    def files(self, name: str = "") -> Iterator[Path]:
        """Yields the files of the run whose paths in its folder begin with a name."""
        for path in sorted(self.path.rglob("*")):
            place = str(path.relative_to(self.path))
            if path.is_file() and place != "run.lock" and place.startswith(name):
                yield path

    @property
    def sessions(self) -> int:
        """How often the run was made or read, which its record counts."""
        return len(json.loads((self.path / "run.json").read_bytes())["sessions"])
