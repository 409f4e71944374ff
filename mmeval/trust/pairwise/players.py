"""The runs whose answers are compared: each model is a player."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mmeval.comparison.named_runs import NamedRuns, models_of
from mmeval.errors import UsageError, did_you_mean
from mmeval.results.stored_run import StoredRun


@dataclass(frozen=True)
class Player:
    """A model with its runs, which are repeats of each other."""

    name: str
    runs: Sequence[StoredRun]

    @property
    def folders(self) -> list[str]:
        """The folders of the runs."""
        return [str(run.folder) for run in self.runs]

    @property
    def tasks(self) -> set[str]:
        """The names of the tasks that all runs have."""
        return set.intersection(*(set(run.record["tasks"]) for run in self.runs))


def players_of(arguments: Sequence[str]) -> list[Player]:
    """Returns the players of a command, which are named as ``mmeval compare`` names
    its runs.

    Raises UsageError unless there are two players or more, with different names, and
    the errors of ``models_of``.
    """
    from mmeval.report.page.writer import names_of

    models: list[NamedRuns] = []
    for words in arguments:
        models += models_of(words)
    if len(models) < 2:
        raise UsageError("give at least two runs")
    distinct = names_of([model.runs[0] for model in models])
    players: dict[str, Player] = {}
    for model, name in zip(models, distinct, strict=True):
        player = Player(model.name or name, model.runs)
        if player.name in players:
            raise UsageError(
                f"two runs have the name {player.name}; give each run its own name, as "
                "NAME=RUN"
            )
        players[player.name] = player
    return list(players.values())


def shared_tasks(players: Sequence[Player], wanted: Collection[str]) -> set[str]:
    """Returns the tasks to compare: the wanted ones, or those of all players.

    Raises UsageError for a wanted task that a player does not have.
    """
    shared = set.intersection(*(player.tasks for player in players))
    for task in wanted:
        if task not in shared:
            raise UsageError(
                f"--tasks: {task!r} is not a task of all runs"
                f"{did_you_mean(task, shared)}",
                name=task,
            )
    return set(wanted) or shared
