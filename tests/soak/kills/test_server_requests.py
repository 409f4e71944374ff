"""A request that ends the server each time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mmeval.model_backends.servers import VLLMBackend
from mmeval.model_backends.servers.backend import ServerBackend
from tests.model_backends.servers.test_backend import COMMAND, StandIn, ask
from tests.support.backend_runs import ServerRuns
from tests.support.cli import gone


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A backend whose server misbehaves so; no process is left of it."""

    @contextmanager
    def made(
        fault: str = "", kind: type[ServerBackend] = VLLMBackend, **args: Any
    ) -> Iterator[tuple[ServerBackend, ServerRuns]]:
        runs = ServerRuns(tmp_path, [], fault)
        for name in ("STAND_IN_FAULT", "STAND_IN_NOTES"):
            monkeypatch.setenv(name, runs.environment[name])
        yield kind(pretrained="org/m", command=COMMAND, **args), runs
        assert gone(runs.processes())

    return made


@pytest.mark.parametrize("fault", ["deadly", "engine"])
def test_a_request_that_ends_the_server_each_time_fails_alone(
    fault: str, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "engine":
        # Its program stays, so that waiting for its end is for nothing.
        monkeypatch.setattr("mmeval.model_backends.servers.server.DEATH_SECONDS", 0.1)
    with stand_in(fault) as (backend, runs):
        found = ask(
            backend,
            *(f"q{i}" for i in range(4)),
            "deadly",
            *(f"q{i}" for i in range(4, 8)),
        )
        error = found.pop(4).error
        assert [response.text for response in found] == [f"q{i}" for i in range(8)]
        assert error is not None
        assert (
            error.kind,
            "also open at the two previous deaths" in error.message,
        ) == (
            "internal",
            True,
        )
        assert ("the last words" in error.message) == (fault == "deadly")
        assert len(runs.starts()) == 4
