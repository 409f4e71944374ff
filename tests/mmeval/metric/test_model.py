import errno
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest

from mmeval import plugins
from mmeval.cli import ls
from mmeval.errors import MissingDataError, MissingError, PluginError, UsageError
from mmeval.findings.finding import Finding
from mmeval.findings.render import causes
from mmeval.media.media import Media
from mmeval.metric import device as device_module
from mmeval.metric import model_files
from mmeval.metric.apply import failed
from mmeval.metric.bound import PREPARE_WEIGHTS, BoundMetric, bind
from mmeval.metric.contract import load_metric, metric
from mmeval.metric.device import use_device
from mmeval.metric.model import (
    HubModel,
    bound_model,
    loaded,
    model_folder,
    remembered_all,
)
from mmeval.metric.model_files import WEIGHTS_DIR
from mmeval.metric.model_files_error import WeightsError
from mmeval.prepare.sources import build_tasks, sources
from mmeval.records.trial import Trial
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from tests.support.cli import Ended, environment, mmeval, results
from tests.support.scoring import (
    COMMIT,
    FILES,
    MODEL,
    Model,
    batched,
    registered,
    weighed,
)
from tests.support.servers import FakeHub, at_hub
from tests.support.task_folder import write_files
from tests.support.trials import missing_weights

ON_HUB = {
    "config.json": b"{}",
    "model.safetensors": bytes(7),
    "pytorch_model.bin": bytes(900),
}
OLDER = "d" * 40
TEXT = {"source": "text"}
BY_HAND = "unpack it below MMEVAL_WEIGHTS_DIR"


@metric(range=(0, 1), version="1", source="test")
def choosy(
    trial: Trial,
    *,
    model: Annotated[Model, HubModel(FILES, unless="file")] = "a/b",
    file: str = "",
) -> float:
    return 1.0


SPOKEN = HubModel(FILES, unless="language=en")


@metric(range=(0, 1), version="1", source="test")
def spoken(
    trial: Trial, *, model: Annotated[Model, SPOKEN] = "a/b", language: str = "en"
) -> float:
    return 1.0


CLIPS = HubModel(("table.csv|", "audio/*.wav|*/*.mp3"), by_hand=BY_HAND)


@metric(range=(0, 1), version="1", source="test")
def compared(trial: Trial, *, clips: Annotated[Model, CLIPS] = "me/clips") -> float:
    return 1.0


def cached(
    home: Path,
    repo: str,
    commit: str,
    files: Mapping[str, str],
    *,
    branch: str = "main",
) -> Path:
    """A model in the hub's cache, as its library keeps it: links to contents. Returns
    the snapshot."""
    folder = home / f"models--{repo.replace('/', '--')}"
    write_files(folder / "refs", {branch: commit})
    snapshot = folder / "snapshots" / commit
    for place in (snapshot, folder / "blobs"):
        place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        large = name.endswith((".safetensors", ".bin"))
        digest = (hashlib.sha256 if large else hashlib.sha1)(text.encode()).hexdigest()
        (folder / "blobs" / digest).write_text(text)
        (snapshot / name).symlink_to(Path("../../blobs") / digest)
    return snapshot


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache, empty; the processor as the device."""
    monkeypatch.setattr(
        "huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache")
    )
    monkeypatch.setattr(device_module, "_requested", "cpu")
    return tmp_path / "cache"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(WEIGHTS_DIR, str(tmp_path / "mine"))
    return tmp_path / "mine"


def model_of(bound: BoundMetric) -> Mapping[str, str]:
    found: Mapping[str, str] = bound.params["model"]
    return found


def test_a_bound_model_says_where_it_is_and_results_only_what_it_is(
    cache: Path,
) -> None:
    snapshot = cached(cache, "me/scorer", COMMIT, MODEL)
    bound = bind(batched)
    model = model_of(bound)
    assert len(model["fingerprint"]) == 32
    assert model == {
        **model,
        "name": "me/scorer",
        "revision": COMMIT,
        "folder": str(snapshot),
    }
    assert bound.described["model"] == {
        key: model[key] for key in ("name", "revision", "fingerprint")
    }
    assert bound.definition["model"] == model["fingerprint"]
    assert bind(batched, bound.params).params == bound.params, (
        "as a scoring process binds it again"
    )
    cached(cache, "me/scorer", OLDER, {**MODEL, "config.json": "older"}, branch="v1")
    named = ("me/scorer", "me/scorer@v1", f"me/scorer@{COMMIT}")
    assert [model_of(bind(batched, {"model": name}))["revision"] for name in named] == [
        COMMIT,
        OLDER,
        COMMIT,
    ]


def test_a_model_is_its_files_wherever_they_are(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(cache, "me/scorer", COMMIT, MODEL)
    own = write_files(tmp_path / "own", {**MODEL, "README.md": "not opened"})
    other = write_files(tmp_path / "other", {**MODEL, "config.json": "other"})
    write_files(tmp_path / "mine/me/scorer", MODEL)
    in_cache, in_folder = bind(batched), bind(batched, {"model": str(own)})
    monkeypatch.setenv(WEIGHTS_DIR, str(tmp_path / "mine"))
    in_mine = bind(batched, {"model": f"me/scorer@{COMMIT}"})
    assert (
        in_cache.key
        == in_folder.key
        == in_mine.key
        != bind(batched, {"model": str(other)}).key
    )
    found = model_of(in_mine)  # that the files are of that commit is not known
    assert (found["folder"], found["name"], found["revision"]) == (
        str(tmp_path / "mine/me/scorer"),
        "me/scorer",
        "",
    )


def test_the_digest_of_a_large_file_is_kept_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noting(path: str) -> str:
        read.append(Path(path).name)
        return "ab" * 32

    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "kept"))
    assert model_files.LARGE_BYTES == 64 * 2**20
    monkeypatch.setattr(model_files, "LARGE_BYTES", len(MODEL["model.safetensors"]))
    monkeypatch.setattr(model_files, "_read_digest", noting)
    folder = write_files(tmp_path / "own", MODEL)

    def bound() -> list[str]:
        model_files._digest_of_file.cache_clear()  # as another process begins
        read.clear()
        bound_model(str(folder), HubModel(tuple(MODEL)))
        return [*read]

    assert (bound(), bound()) == (["config.json", "model.safetensors"], ["config.json"])
    (folder / "model.safetensors").write_text("weights again")
    assert bound() == ["config.json", "model.safetensors"]
    for file in (tmp_path / "kept/digests").iterdir():
        file.write_text("damaged")
    assert bound() == ["config.json", "model.safetensors"]


def test_of_alternatives_the_first_that_is_there_is_opened_and_what_may_lack_may(
    tmp_path: Path,
) -> None:
    files = HubModel(
        ("config.json", "model.safetensors|pytorch_model.bin", "added.json|")
    )
    old = {"config.json": "{}", "pytorch_model.bin": "old"}
    older = {"pytorch_model.bin": "old"}
    folders = {
        "old": old,
        "both": {**MODEL, **older},
        "more": {**MODEL, "added.json": "{}"},
        "safe": MODEL,
    }
    models = {
        name: bound_model(str(write_files(tmp_path / name, given)), files)
        for name, given in folders.items()
    }
    marks = {name: model["fingerprint"] for name, model in models.items()}
    assert (
        all(marks.values()),
        marks["both"] == marks["safe"],
        len(set(marks.values())),
    ) == (True, True, 3)


def test_a_model_that_is_not_here_is_named_with_what_lacks_and_how_to_get_it(
    cache: Path, tmp_path: Path
) -> None:
    cached(cache, "me/scorer", COMMIT, {"config.json": "{}"})
    bound, own = bind(batched), bind(batched, {"model": str(tmp_path / "none")})
    assert model_of(bound) == {
        "name": "me/scorer",
        "revision": "",
        "folder": "",
        "fingerprint": "",
    }
    (lacks,), (own_lacks,) = bound.lacks(()), own.lacks(())
    cause = "me/scorer: not here (model.safetensors or pytorch_model.bin)"
    assert (lacks.kind, causes([lacks])) == ("missing_weights", cause)
    assert lacks.remedy == PREPARE_WEIGHTS
    assert (str(tmp_path / "none") in own_lacks.subject.name, own_lacks.remedy) == (
        True,
        "",
    )
    with pytest.raises(MissingDataError, match="me/scorer"):
        model_folder(model_of(bound))
    with pytest.raises(MissingDataError, match="switch"):
        model_folder(bound_model("", HubModel(FILES)))


@pytest.mark.parametrize(
    ("place", "file"), [("own", "config.json"), ("mine/me/scorer", "")]
)
def test_an_unreadable_file_is_named(
    place: str, file: str, mine: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    def refused(path: str) -> str:
        # a read names no file
        raise OSError(errno.EIO, "broken", *([path] if file else []))

    monkeypatch.setattr(model_files, "_read_digest", refused)
    folder = write_files(tmp_path / place, MODEL)
    bound = bind(batched, {"model": str(folder)} if place == "own" else {})
    assert model_of(bound)["fingerprint"] == ""
    assert (
        f"a readable {folder / file if file else 'copy of its files'} (broken)"
        in missing_weights(bound)
    )


@pytest.mark.parametrize(
    ("tool", "switches", "needed"),
    [
        (choosy, {}, True),
        (choosy, {"file": "mine.json"}, False),
        (spoken, {}, False),
        (spoken, {"language": "zh"}, True),
    ],
    ids=["not set", "set", "the value", "another value"],
)
def test_a_model_that_is_not_needed_is_not_missed(
    tool: Any, switches: Any, needed: bool, cache: Path
) -> None:
    bound = bind(tool, switches)
    assert bool(missing_weights(bound)) is bool(bound.at_once) is needed
    cached(cache, "a/b", COMMIT, MODEL)
    assert (bind(tool, switches).key != bound.key) is needed
    assert (bind(weighed).at_once, bind(weighed, {"model": ""}).at_once) == (1, 0)
    assert (
        bind(load_metric("speech_rate")).at_once,
        bind(load_metric("speech_rate"), TEXT).at_once,
    ) == (8, 0)


def test_what_names_no_model_is_refused() -> None:
    # a folder may be called so
    assert missing_weights(bind(batched, {"model": "../../x/y@"}))
    for written in (
        "scorer",
        "me/scorer/more",
        "me/..",
        "me/scorer@a..b",
        5,
        {"name": 5},
    ):
        with pytest.raises(UsageError) as caught:
            bind(batched, {"model": written})
        assert caught.value.name == "model"
    for files in ((), "config.json", ("../a",), ("a|/b",)):
        with pytest.raises(PluginError):
            HubModel(files)
    # What a model was found to be is not for a user to write.
    for found in (
        {"name": "me/scorer", "fingerprint": "f"},
        {"name": "scorer", "folder": "/x"},
    ):
        with pytest.raises(UsageError) as caught:
            batched.consented({"model": found}, trust=False)
        assert caught.value.name == "model"
    assert batched.consented(
        {"model": {"name": "me/scorer", "revision": "v1"}}, trust=False
    )


def test_a_star_stands_for_one_file_or_more_which_count_by_names_and_sizes(
    tmp_path: Path,
) -> None:
    def mark(name: str, **files: str) -> str:
        write_files(
            tmp_path / name,
            {place.replace("_", "/"): text for place, text in files.items()},
        )
        return str(
            bind(compared, {"clips": str(tmp_path / name)}).params["clips"][
                "fingerprint"
            ]
        )

    same, again = (
        mark(name, **{"audio_1.wav": "one", "audio_2.wav": "two"}) for name in "ab"
    )
    others = [
        mark("c", **{"audio_1.wav": "one"}),
        mark("d", **{"dog_0.mp3": "one"}),
        mark("e", **{"audio_1.wav": "1"}),
    ]
    assert same == again
    assert len({same, *others}) == 4
    assert mark("f", **{"audio_1.txt": "none"}) == ""
    assert missing_weights(bind(compared)).endswith(BY_HAND)


def test_a_model_that_the_hub_does_not_have_is_never_fetched(
    tmp_path: Path, site: None
) -> None:
    task = written(tmp_path, "{metric: weighed}")
    (item,) = build_tasks(choose([str(task)], TaskIndex()), TaskOverrides())
    metric = replace(item.task.metrics[0], bound=bind(compared))
    by_hand = item._replace(task=replace(item.task, metrics=(metric,)))
    assert len(sources([item], weights=True)) == 1
    assert sources([by_hand], weights=True) == {}


MADE: list[tuple[str, str]] = []


def load(folder: Path, device: str, size: int = 2) -> str:
    MADE.append((folder.name, device))
    return f"{folder.name} on {device} / {size}"


def odd(folder: Path, device: str) -> str:
    MADE.append((folder.name, device))
    raise WeightsError(folder, "is odd")


def test_a_model_is_loaded_once_for_each_folder_device_and_way(tmp_path: Path) -> None:
    MADE.clear()
    one, other = (
        bound_model(str(write_files(tmp_path / name, MODEL)), HubModel(FILES))
        for name in ("one", "other")
    )
    assert {loaded(one, load) for _ in range(3)} == {"one on cpu / 2"}
    assert {
        loaded(one, lambda folder, device: load(folder, device) + "!") for _ in range(3)
    } == {"one on cpu / 2!"}
    assert [loaded(one, partial(load, size=size)) for size in (2, 3, 3)] == [
        f"one on cpu / {n}" for n in (2, 3, 3)
    ]
    use_device("mps")
    with pytest.raises(MissingError, match="mps"):
        loaded(one, load)
    use_device("cpu")
    assert loaded(other, load) == "other on cpu / 2"
    write_files(tmp_path / "other", {"config.json": "{1: 2}"})
    loaded(bound_model(str(tmp_path / "other"), HubModel(FILES)), load)
    assert [*[("one", "cpu")] * 4, *[("other", "cpu")] * 2] == MADE


def test_files_that_give_no_scores_are_loaded_once_and_refused_each_time(
    cache: Path, tmp_path: Path
) -> None:
    MADE.clear()
    cached(cache, "me/scorer", COMMIT, MODEL)
    own = bound_model(str(write_files(tmp_path / "own", MODEL)), HubModel(FILES))
    for value, name in ((own, ""), (own, ""), (model_of(bind(batched)), "me/scorer")):
        with pytest.raises(WeightsError) as caught:
            loaded(value, odd)
        assert (caught.value.fault, caught.value.model) == ("is odd", name)
    assert len(MADE) == 2
    assert {
        score.cause
        for score in failed(bind(batched), WeightsError(tmp_path, "is odd")).values()
    } == {"lost"}


def test_results_for_media_are_remembered_with_the_medium_and_worked_out_together_once() -> (
    None
):
    calls: list[list[bytes]] = []

    def listen(media: Sequence[Media]) -> list[str]:
        calls.append([one.read() for one in media])
        return [one.read().decode() for one in media]

    first, second, same = (Media.from_bytes(text) for text in (b"a", b"b", b"a"))
    with pytest.raises(ZeroDivisionError):
        remembered_all([first], 1, lambda media: [1 // 0])
    with pytest.raises(PluginError, match="1 media, not 2"):
        remembered_all([first], 1, lambda media: ["a", "b"])
    assert [remembered_all([first], key, listen) for key in (1, 1, 2)] == [["a"]] * 3
    more = [first, second, same, Media.from_bytes(b"c"), Media.from_bytes(b"c")]
    assert [remembered_all(more, 1, listen) for _ in range(2)] == [
        ["a", "b", "a", "c", "c"]
    ] * 2
    assert calls == [[b"a"], [b"a"], [b"b", b"c"]]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    with (
        FakeHub(models={"me/scorer": {COMMIT: ON_HUB}}) as running,
        at_hub(running.url, tmp_path),
    ):
        yield running


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    registered(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    plugins._registered.cache_clear()
    yield
    plugins._registered.cache_clear()


def written(folder: Path, metrics: str) -> Path:
    text = f"task: weighed_task\nmetric_list: [{metrics}]\nmetadata: {{version: 1}}\n"
    return (
        write_files(
            folder, {"t.yaml": text, "test.jsonl": '{"input": "q", "reference": "a"}\n'}
        )
        / "t.yaml"
    )


def command(folder: Path, *words: str | Path, **more: str) -> Ended:
    return mmeval(*words, env=environment(NO_PROXY="*", **more), cwd=folder)


def test_prepare_fetches_only_the_files_that_are_opened(
    hub: FakeHub, tmp_path: Path, site: None
) -> None:
    task = written(tmp_path, "{metric: weighed, model: me/scorer}")
    assert command(tmp_path, "prepare", task, HF_HUB_OFFLINE="0").code == 0
    hub.shelves["models"] = {"me/scorer": {COMMIT: {"config.json": b"{}"}}}
    lacks = command(tmp_path, "prepare", task, "--weights", HF_HUB_OFFLINE="0")
    assert (lacks.code, "model.safetensors or pytorch_model.bin" in lacks.out) == (
        4,
        True,
    )
    hub.shelves["models"] = {"me/scorer": {COMMIT: ON_HUB}}
    done = command(tmp_path, "prepare", task, "--weights", HF_HUB_OFFLINE="0")
    ran = command(
        tmp_path, "--tasks", task, "--model", "reference", "--score_workers", "0"
    )
    assert (done.code, ran.code) == (0, 0), done.out
    assert "model.safetensors" in hub.fetched and "pytorch_model.bin" not in hub.fetched
    assert f"commit {COMMIT}" in done.out
    found = results(tmp_path / "runs")
    assert found["results"]["weighed_task"]["weighed,none"] == 7.0
    (shown,) = found["mmeval"]["metrics"]["weighed_task"].values()
    assert shown["switches"]["model"]["revision"] == COMMIT


def test_a_model_that_is_missing_is_found_with_the_command_that_gets_it(
    tmp_path: Path, site: None
) -> None:
    task = written(tmp_path, "{metric: weighed}")

    def found(folder: str) -> list[Finding]:
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv(WEIGHTS_DIR, str(tmp_path / folder))
            (item,) = build_tasks(choose([str(task)], TaskIndex()), TaskOverrides())
            return list(item.task.metrics[0].lacks)

    write_files(tmp_path / "mine/me/scorer", MODEL)
    (lacks,) = found("none")
    assert (lacks.kind, lacks.remedy) == ("missing_weights", PREPARE_WEIGHTS)
    assert lacks.subject.name == "me/scorer at cccccccccccc"
    assert found("mine") == []
    assert "a model (not here)" in ls._metric_row("weighed", "us", weighed)[4]
