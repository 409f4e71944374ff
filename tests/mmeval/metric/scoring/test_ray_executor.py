"""The executor over a cluster that is not there: its actors are objects, which die when
the work is to die."""

from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from mmeval.errors import BackendDownError
from mmeval.metric.scoring.pool import ScorePool
from mmeval.metric.scoring.ray_executor import RayExecutor
from mmeval.metric.scoring.worker import QueuedTrial, ScoredRows, ScoringSetup


class _RayError(Exception):
    pass


class _RayTaskError(_RayError):
    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class Actor:
    """Does a piece of work when its answer is waited for."""

    def __init__(self) -> None:
        self.__ray_ready__ = SimpleNamespace(remote=lambda: "ready")
        self.do = SimpleNamespace(remote=lambda work: lambda: self._done(work))
        self.pieces = 0

    def _done(self, work: Any) -> object:
        self.pieces += 1
        try:
            return work()
        except SystemExit:
            raise _RayError("it died") from None
        except Exception as error:
            raise _RayTaskError(error) from error


class Cluster:
    """Stands for a cluster, and for the module ``ray``."""

    shared, engine = None, None
    exceptions = SimpleNamespace(RayError=_RayError, RayTaskError=_RayTaskError)

    def __init__(self) -> None:
        self.made: list[Actor] = []
        self.is_late = False
        self.killed: list[Actor] = []

    def connect(self) -> "Cluster":
        return self

    def options(self, _cpus: float, **_more: object) -> dict[str, Any]:
        return {}

    def actor_class(self, _scores: type) -> Any:
        return SimpleNamespace(options=lambda: SimpleNamespace(remote=self._make))

    def _make(self, _setup: ScoringSetup, _shared: object) -> Actor:
        self.made.append(Actor())
        return self.made[-1]

    def wait(self, answers: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return ([], answers) if self.is_late else (answers, [])

    def reach_head(self) -> None:
        raise BackendDownError("its head is gone", "start it")

    def get(self, answer: Any) -> object:
        return answer()

    def kill(self, actor: Actor) -> None:
        self.killed.append(actor)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    yield Cluster()


def dies() -> NoReturn:
    raise SystemExit


def fails() -> NoReturn:
    raise ValueError("odd")


def test_an_actor_does_one_piece_after_the_other_and_the_next_takes_the_place_of_a_dead_one(
    cluster: Cluster,
) -> None:
    executor = RayExecutor(cluster, ScoringSetup([], 1.0, "auto"), 1)  # type: ignore[arg-type]
    assert [executor.submit(abs, -number).result() for number in (1, 2)] == [1, 2]
    with pytest.raises(ValueError, match="odd"):
        executor.submit(fails).result()
    assert (len(cluster.made), cluster.made[0].pieces) == (1, 3)
    with pytest.raises(BrokenProcessPool, match="it died"):
        executor.submit(dies).result()
    assert executor.submit(abs, -3).result() == 3
    assert (len(cluster.made), cluster.killed) == (2, cluster.made[:1])
    executor.shutdown()
    assert cluster.killed == cluster.made


def test_where_an_actor_finds_no_room_that_is_reported_and_a_lost_head_ends_the_wait(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.is_late = True
    executor = RayExecutor(cluster, ScoringSetup([], 1.0, "auto"), 1)  # type: ignore[arg-type]
    with pytest.raises(BackendDownError):
        executor.submit(abs, -1).result()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    executor.shutdown()


async def test_of_a_message_that_kills_its_actor_the_others_are_scored(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def score(items: list[QueuedTrial]) -> ScoredRows:
        return (
            dies()
            if (0, b"deadly") in items
            else ScoredRows([line for _, line in items], 0.0)
        )

    monkeypatch.setattr("mmeval.metric.scoring.pool.score", score)
    monkeypatch.setattr(
        "mmeval.metric.scoring.pool._unscored_row",
        lambda _plans, item: b"lost " + item[1],
    )
    pool = ScorePool(ScoringSetup([], 1.0, "auto"), 2, cluster=cluster)  # type: ignore[arg-type]
    rows = await pool.rows([(0, b"one"), (0, b"deadly"), (0, b"two"), (0, b"three")])
    assert sorted(rows.rows) == [b"lost deadly", b"one", b"three", b"two"]
    assert (await pool.rows([(0, b"four")])).rows == [b"four"]
    pool.close()
