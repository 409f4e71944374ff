from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.batch_size import BatchSize
from mmeval.backend.capabilities import Capabilities
from mmeval.broker.cluster.engine import RayEngine
from mmeval.errors import EXIT_MISSING, MissingExtraError, UnknownNameError, UsageError
from mmeval.findings.finding import Subject
from mmeval.records.request import GenerationParams
from mmeval.run.backends import Backends, batch_size_findings, option_findings
from mmeval.run.options import BackendSpec
from mmeval.system.json_lines import from_line
from tests.support.parallel import ToyParallel
from tests.support.toy import Toy, ToyLocal, run_toy, task


class Drawing(Toy):
    """Knows one option."""

    def __init__(self, **args: Any) -> None:
        super().__init__(**args)
        self.capabilities = replace(
            Capabilities.of(("text",), ("text", "image")),
            options=frozenset({"image.size"}),
        )


def asked_with(*given: str, **options: Any) -> Any:
    """A task with options, of which some were given on the command line."""
    return task(
        params=GenerationParams(options=options), given_options=frozenset(given)
    )


def test_an_option_of_the_command_line_that_the_model_does_not_know_is_refused() -> (
    None
):
    with pytest.raises(UnknownNameError) as caught:
        option_findings(
            {"model": Drawing()}, [asked_with("image.sise", **{"image.sise": 1})]
        )
    assert (caught.value.name, caught.value.known) == ("image.sise", ("image.size",))


def test_an_option_that_only_task_files_give_is_left_out_for_each_task() -> None:
    unknown = asked_with(**{"image.size": "1x1", "image.steps": 5})
    of_judge = task(
        roles={
            "judge": GenerationParams(options={"image.steps": 5}),
            "absent": GenerationParams(),
        }
    )
    of_model = option_findings(
        {"model": Drawing()}, [unknown, replace(unknown, name="other")]
    )
    of_role = option_findings({"model": Toy(), "judge": Drawing()}, [of_judge])
    found = [(one.kind, one.subject) for one in (*of_model, *of_role)]
    assert found == [
        ("setting", Subject("toy", role="model")),
        ("setting", Subject("other", role="model")),
        ("setting", Subject("toy", role="judge")),
    ]


def test_a_model_that_may_know_any_option_gets_it() -> None:
    asked = asked_with("image.steps", **{"image.steps": 5})
    assert option_findings({"model": Toy()}, [asked]) == []


def test_an_option_that_is_left_out_is_not_sent_and_is_noted_in_the_answer(
    tmp_path: Path,
) -> None:
    model = Drawing()
    made = asked_with(**{"image.size": "1x1", "image.steps": 5})
    for kept in (0, 3):
        outcome = run_toy(tmp_path, made, model=BackendSpec("toy", instance=model))
        assert (outcome.exit_code, outcome.counts.kept) == (0, kept)
    assert [request.params.options for request in model.asked] == [
        {"image.size": "1x1"}
    ] * 3
    (journal,) = tmp_path.rglob("journal/*.jsonl")
    warnings = [
        from_line(line)["r"]["warnings"] for line in journal.read_bytes().splitlines()
    ]
    assert [(len(one), "image.steps" in one[0]) for one in warnings] == [(1, True)] * 3
    whole = model.asked[0]
    assert whole.without_options([]) is whole


@pytest.mark.parametrize(
    ("size", "backend", "has_effect"),
    [
        (BatchSize(4), ToyLocal(max_batch_size=4), True),
        (BatchSize(5), ToyLocal(max_batch_size=4), False),
        (BatchSize(growths=2), ToyLocal(), True),
        (BatchSize(growths=2), Toy(), False),
        (BatchSize(9), Toy(), False),
        (BatchSize(), Toy(), True),
    ],
    ids=[
        "fits",
        "too many rows",
        "grows",
        "grows in vain",
        "no batches",
        "usual without batches",
    ],
)
def test_a_batch_size_without_effect_is_a_finding(
    size: BatchSize, backend: Any, has_effect: bool
) -> None:
    found = list(batch_size_findings({"model": backend}, size))
    assert (found == []) == has_effect


class Computing(Toy):
    """Its calls are work for this machine, which has three processors."""

    usual_connections = 3


def test_work_of_this_machine_has_its_own_limit_unless_the_role_says_otherwise_and_costs_nothing() -> (
    None
):
    specs = {
        "model": BackendSpec("computing", instance=Computing()),
        "judge": BackendSpec("toy", instance=Toy()),
    }
    runtimes = Backends(specs).runtimes(lambda: 1, limit=64, retries=0)
    assert {role: runtime.role.limiter.limit for role, runtime in runtimes.items()} == {
        "model": 3,
        "judge": 64,
    }
    endpoints = [runtime.endpoint(role) for role, runtime in runtimes.items()]
    assert [endpoint is not None and endpoint.local for endpoint in endpoints] == [
        True,
        False,
    ]
    given = BackendSpec("computing", {"max_connections": 5}, instance=Computing())
    assert (
        Backends({"model": given})
        .runtimes(lambda: 1, limit=64, retries=0)["model"]
        .role.limiter.limit
        == 5
    )


class Noting(Toy):
    """Knows where its notes go."""

    notes: list[Path]

    def __init__(self, **args: Any) -> None:
        super().__init__(**args)
        self.notes = []

    def keep_notes_in(self, folder: Path) -> None:
        self.notes.append(folder)


def notes_of(folder: Path, **options: Any) -> Path:
    """The folder that a run gives its backend for notes."""
    backend = Noting()
    run_toy(folder, task(), model=BackendSpec("noting", {}, backend), **options)
    [notes] = backend.notes
    return notes


def test_a_resumed_run_gives_its_backend_the_same_folder_for_notes(
    tmp_path: Path,
) -> None:
    first = notes_of(tmp_path)
    assert notes_of(tmp_path) == first
    [run] = (tmp_path / "runs").iterdir()
    assert run in first.parents
    assert notes_of(tmp_path, run_id="other") != first


def test_the_limit_of_a_role_is_a_whole_number_above_zero() -> None:
    for given in ("many", 0, True):
        with pytest.raises(UsageError) as caught:
            Backends({"judge": BackendSpec("empty", {"max_connections": given})})
        assert caught.value.name == "max_connections"


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize(
    ("spec", "engine", "name"),
    [
        (BackendSpec("toy"), RayEngine(), "--engine"),
        (
            BackendSpec("toy_parallel", {"folder": "f", "copies": 2}),
            RayEngine(),
            "model",
        ),
        (
            BackendSpec("toy_parallel", instance=ToyParallel(folder="f")),
            RayEngine(),
            "model",
        ),
    ],
    ids=["a server", "copies here, too", "made in this process"],
)
def test_an_engine_that_cannot_answer_for_a_backend_is_refused(
    spec: BackendSpec, engine: RayEngine, name: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Backends({"model": spec}).check_engine(engine)
    assert caught.value.name == name


@pytest.mark.usefixtures("toys")
def test_an_engine_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    local = BackendSpec("toy_parallel", {"folder": "f"})
    Backends({"model": local}).check_engine(None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    for spec, engine in (
        (local, RayEngine()),
        (BackendSpec("toy"), RayEngine(score_workers=2)),
    ):
        with pytest.raises(MissingExtraError) as caught:
            Backends({"model": spec}).check_engine(engine)
        assert (caught.value.extra, caught.value.exit_code) == ("ray", EXIT_MISSING)
