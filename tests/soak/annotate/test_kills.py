"""The server is killed again and again while two raters rate."""

import http.client
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from mmeval.trust.ratings_file import ratings_path
from mmeval.trust.rows import read_ratings
from tests.support.annotation import Client, asked, run_to_rate
from tests.support.cli import Running, started

pytestmark = pytest.mark.timeout(1800)

KILLS = 50
RATERS = ("ann", "bob")


def links(running: Running) -> dict[str, Client]:
    """The raters' pages, as the command prints them."""
    found: dict[str, Client] = {}
    assert running.process.stdout is not None
    for line in running.process.stdout:
        name, _, address = line.strip().partition("  http://127.0.0.1:")
        if name in RATERS:
            port, _, path = address.partition("/")
            found[name] = Client(int(port), f"/{path}")
        if len(found) == len(RATERS):
            return found
    raise AssertionError("the links were not printed")


class Rater(threading.Thread):
    """Rates until the server is gone, and remembers what the server acknowledged."""

    def __init__(self, client: Client, name: str, acknowledged: set[str]) -> None:
        super().__init__(daemon=True)
        self._client = client
        self._name = name
        self._acknowledged = acknowledged
        self.shown_again: list[str] = []

    def run(self) -> None:
        try:
            while True:
                page = self._client.get("next").json
                words = page["messages"][0][0]["text"]
                if words in self._acknowledged:
                    self.shown_again.append(words)
                body = {"id": page["id"], "chosen": 1, "comment": words}
                if self._client.post(body).status == 200:
                    self._acknowledged.add(words)
        except (OSError, http.client.HTTPException, ValueError):
            # the server is gone, perhaps in the middle of a reply
            return


def test_no_acknowledged_rating_is_lost(tmp_path: Path) -> None:
    count = 2_000
    run = run_to_rate(tmp_path / "run", count)
    ask = asked(tmp_path)
    chance = random.Random(0)
    acknowledged: dict[str, set[str]] = {rater: set() for rater in RATERS}
    for kill in range(KILLS):
        command = (run, "--ask", ask, "--raters", ",".join(RATERS), "--port", "0")
        with started("annotate", *command) as running:
            clients = links(running)
            raters = [Rater(clients[name], name, acknowledged[name]) for name in RATERS]
            for rater in raters:
                rater.start()
            time.sleep(chance.uniform(0.0, 0.3))
            running.signal(signal.SIGKILL)
            for rater in raters:
                rater.join()
        assert [rater.shown_again for rater in raters] == [[], []], kill

        kept: dict[str, set[str]] = {rater: set() for rater in RATERS}
        for rating in read_ratings(ratings_path(run, "people")):
            kept[rating.rater].add(rating.comment)
        for name in RATERS:
            assert acknowledged[name] <= kept[name], kill
    assert min(map(len, acknowledged.values())) > KILLS


def test_the_command_ends_well_on_ctrl_c(tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 2)
    command = (run, "--ask", asked(tmp_path), "--raters", "ann,bob", "--port", "0")
    with started("annotate", *command) as running:
        links(running)["ann"].rate(1)
        running.signal(signal.SIGINT)
        ended = running.ended()
    assert (ended.code, ended.err) == (0, "")
    assert "ratings: 1" in ended.out
