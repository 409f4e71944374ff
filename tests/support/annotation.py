"""Sessions of raters: a run to rate, its server on a real socket, and a rater without a
browser."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from mmeval.trust.annotate.command import Annotation, AnnotationOptions, prepared
from mmeval.trust.records import Rating
from mmeval.trust.rows import read_ratings
from tests.support.stored_runs import WrittenTrial, text, write_run

ASK = "question: How polite is the answer?\nkind: grade\nlevels: [rude, fair, polite]\n"
PAIRS = "question: Which answer is better?\npairs: true\n"
MODEL = "secret-model"
"""The name of the model whose answers are rated. Raters must not see it."""
Headers = Mapping[str, str]


def run_to_rate(
    folder: Path,
    count: int = 4,
    *,
    model: str = MODEL,
    answer: str = "Hello",
    **run: Any,
) -> Path:
    """A run with ``count`` answers, and scores that a judge explains."""
    trials = []
    for number in range(count):
        evidence = {"reason": "judge-reason"}
        score = {"value": 0.3125, "status": "scored", "evidence": evidence}
        told = WrittenTrial(
            [text(f"Greet guest {number}.")],
            [text(f"{answer}, guest {number}!")],
            {"polite_metric": score},
            sample=f"guest-{number}",
            metadata={"level": "easy" if number % 2 else "hard"},
            verdicts=[{"metric": "polite_metric", "parts": [text("judge-words")]}],
        )
        trials.append(told)
    return write_run(folder, trials, task="greeting", model=model, **run)


def asked(folder: Path, words: str = ASK) -> Path:
    """A file of a question."""
    file = folder / "polite.yaml"
    file.write_text(words, encoding="utf-8")
    return file


@dataclass
class Answered:
    """A reply of the server."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """Sends requests to a server, as a browser or as an attacker."""

    port: int
    base: str = "/"

    def get(self, path: str, headers: Headers | None = None) -> Answered:
        """The reply to a path below the rater's page."""
        return self.send("GET", self.base + path, None, headers)

    def rate(self, chosen: Any, **more: Any) -> Answered:
        """Rates the next trial."""
        name = self.get("next").json["id"]
        return self.post({"id": name, "chosen": chosen, **more})

    def post(self, body: Any, kind: str = "application/json") -> Answered:
        words = json.dumps(body)
        return self.send("POST", f"{self.base}rate", words, {"Content-Type": kind})

    def send(
        self, method: str, path: str, body: str | None, headers: Headers | None = None
    ) -> Answered:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return Answered(response.status, response.headers, response.read())
        finally:
            connection.close()


@dataclass
class Served:
    """A session that is served."""

    annotation: Annotation
    port: int

    def rater(self, name: str) -> Client:
        return Client(self.port, self.annotation.server.path_of(name))

    @property
    def ratings(self) -> list[Rating]:
        return read_ratings(self.annotation.path)


@contextmanager
def served(*folders: Path, ask: Path | None = None, **options: Any) -> Iterator[Served]:
    """The session of a command line, on a port of its own."""
    with prepared(AnnotationOptions(folders, ask=ask, **options)) as annotation:
        thread = Thread(target=annotation.server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Served(annotation, annotation.server.server_address[1])
        finally:
            annotation.server.shutdown()
            thread.join()
