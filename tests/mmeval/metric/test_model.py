"""Models of metrics: how they are named, found, told apart, loaded and fetched."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest

from mmeval.content.media import Media
from mmeval.errors import MissingDataError, PluginError, UsageError
from mmeval.metric import device as device_module
from mmeval.metric.apply import failed
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric, metric
from mmeval.metric.device import use_device
from mmeval.metric.model import HubModel, bound_model, loaded, model_folder, remembered_all
from mmeval.metric.model_files import WEIGHTS_DIR
from mmeval.metric.model_files_error import WeightsError
from mmeval.prepare import sources
from mmeval.records.trial import Trial
from tests.support.cli import Ended, environment, mmeval, results
from tests.support.fake_hub import FakeHub
from tests.support.task_folder import write_files
from tests.support.toy_weights import COMMIT, FILES, MODEL, Model, batched, registered, weighed

ON_HUB = {"config.json": b"{}", "model.safetensors": bytes(7), "pytorch_model.bin": bytes(900)}
OLDER = "d" * 40


@metric(range=(0, 1), version="1", source="test")
def choosy(
    trial: Trial, *, model: Annotated[Model, HubModel(FILES, unless="file")] = "me/scorer", file: str = ""
) -> float:
    return 1.0


@metric(range=(0, 1), version="1", source="test")
def spoken(
    trial: Trial, *, model: Annotated[Model, HubModel(FILES, unless="language=en")] = "me/scorer", language: str = "en"
) -> float:
    return 1.0


def cached(home: Path, repo: str, commit: str, files: Mapping[str, str], *, branch: str = "main") -> Path:
    """A model in the hub's cache, as its library keeps it: links to contents. Returns the snapshot."""
    folder = home / f"models--{repo.replace('/', '--')}"
    write_files(folder / "refs", {branch: commit})
    snapshot = folder / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (folder / "blobs").mkdir(exist_ok=True)
    for name, text in files.items():
        large = name.endswith((".safetensors", ".bin"))
        digest = (hashlib.sha256 if large else hashlib.sha1)(text.encode()).hexdigest()
        (folder / "blobs" / digest).write_text(text)
        (snapshot / name).symlink_to(Path("../../blobs") / digest)
    return snapshot


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def _usual_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "_asked", "cpu")


def test_a_bound_model_says_where_it_is_which_commit_and_what_its_files_are(cache: Path) -> None:
    snapshot = cached(cache, "me/scorer", COMMIT, MODEL)

    model = bind(batched).params["model"]

    assert (model["name"], model["revision"], model["folder"]) == ("me/scorer", COMMIT, str(snapshot))
    assert len(model["fingerprint"]) == 32


def test_without_a_revision_what_main_was_is_used_and_with_one_that(cache: Path) -> None:
    cached(cache, "me/scorer", OLDER, {**MODEL, "config.json": "older"}, branch="v1")
    cached(cache, "me/scorer", COMMIT, MODEL)

    found = {
        given: bind(batched, {"model": given}).params["model"]["revision"] for given in ("me/scorer", "me/scorer@v1")
    }
    assert found == {"me/scorer": COMMIT, "me/scorer@v1": OLDER}
    assert bind(weighed).params["model"]["revision"] == COMMIT, "a commit needs no branch"


def test_a_model_is_its_files_wherever_they_lie_and_whatever_it_is_called(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(cache, "me/scorer", COMMIT, MODEL)
    own = write_files(tmp_path / "own", {**MODEL, "README.md": "not opened"})
    write_files(tmp_path / "mine/me/scorer", MODEL)

    in_cache, in_folder = bind(batched), bind(batched, {"model": str(own)})
    monkeypatch.setenv(WEIGHTS_DIR, str(tmp_path / "mine"))
    in_mine = bind(batched)

    assert in_mine.params["model"]["folder"] == str(tmp_path / "mine/me/scorer")
    assert in_cache.definition == in_folder.definition == in_mine.definition
    assert in_cache.key == in_folder.key == in_mine.key


@pytest.mark.parametrize("changed", ["config.json", "model.safetensors"])
def test_another_byte_in_a_file_makes_another_metric(changed: str, tmp_path: Path) -> None:
    before = write_files(tmp_path / "a", MODEL)
    after = write_files(tmp_path / "b", {**MODEL, changed: MODEL[changed].swapcase() + "."})

    assert bind(batched, {"model": str(before)}).key != bind(batched, {"model": str(after)}).key


def test_the_digest_of_a_large_file_is_kept_and_made_again_when_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noting(path: str) -> str:
        read.append(Path(path).name)
        return "ab" * 32

    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr("mmeval.metric.model_files.LARGE_BYTES", 5)
    monkeypatch.setattr("mmeval.metric.model_files._read_digest", noting)
    folder = write_files(tmp_path / "own", MODEL)

    def bound() -> list[str]:
        from mmeval.metric import model_files

        model_files._digest_of_file.cache_clear()  # as another process begins
        read.clear()
        bound_model(str(folder), HubModel(("model.safetensors",)))
        return read

    assert (list(bound()), list(bound())) == (["model.safetensors"], [])
    (folder / "model.safetensors").write_text("weights again")
    assert bound() == ["model.safetensors"]
    for file in (tmp_path / "kept/digests").iterdir():
        file.write_text("damaged")
    assert bound() == ["model.safetensors"]


def test_of_alternatives_the_first_that_is_there_is_opened_and_what_may_lack_may(tmp_path: Path) -> None:
    files = HubModel(("config.json", "model.safetensors|pytorch_model.bin", "added.json|"))
    old = write_files(tmp_path / "old", {"config.json": "{}", "pytorch_model.bin": "old"})
    both = write_files(tmp_path / "both", {**MODEL, "pytorch_model.bin": "old"})
    more = write_files(tmp_path / "more", {**MODEL, "added.json": "{}"})
    safe = write_files(tmp_path / "safe", MODEL)

    prints = {folder.name: bound_model(str(folder), files)["fingerprint"] for folder in (old, both, more, safe)}
    assert all(prints.values())
    assert prints["both"] == prints["safe"]
    assert len(set(prints.values())) == 3


def test_a_model_that_is_not_here_is_named_with_what_lacks_and_the_way_to_it(cache: Path, tmp_path: Path) -> None:
    cached(cache, "me/scorer", COMMIT, {"config.json": "{}"})
    bound, own = bind(batched), bind(batched, {"model": str(tmp_path / "none")})

    assert bound.params["model"] == {"name": "me/scorer", "revision": "", "folder": "", "fingerprint": ""}
    assert bound.without_models("task") == (
        "its model me/scorer is not here (model.safetensors or pytorch_model.bin); run: mmeval prepare task --weights"
    )
    assert own.without_models().endswith("put the files there, or name another model")
    with pytest.raises(MissingDataError, match="me/scorer is not here"):
        model_folder(bound.params["model"])


def test_of_files_in_a_folder_of_ones_own_no_commit_is_recorded(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(cache, "me/scorer", COMMIT, MODEL)
    write_files(tmp_path / "mine/me/scorer", MODEL)
    monkeypatch.setenv(WEIGHTS_DIR, str(tmp_path / "mine"))

    model = bind(batched, {"model": f"me/scorer@{COMMIT}"}).params["model"]

    assert (model["name"], model["revision"]) == ("me/scorer", ""), "nobody knows that the files are of that commit"


@pytest.mark.parametrize(
    ("place", "named", "said"),
    [
        ("own", "{tmp_path}/own", "its model {folder} lacks a readable {file}; put the files there, or name another"),
        ("mine/me/scorer", "me/scorer", "its model me/scorer is not here (a readable {file}); run: mmeval prepare"),
    ],
    ids=["a folder", "of the hub"],
)
def test_a_file_that_is_there_and_cannot_be_read_is_told(
    place: str, named: str, said: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setenv(WEIGHTS_DIR, str(tmp_path / "mine"))
    monkeypatch.setattr("mmeval.metric.model_files._read_digest", refused)
    folder = write_files(tmp_path / place, MODEL)
    bound = bind(batched, {"model": named.format(tmp_path=tmp_path)})

    assert bound.params["model"]["fingerprint"] == ""
    file = f"{folder / 'config.json'} (Permission denied)"
    assert bound.without_models().startswith(said.format(folder=folder, file=file))


def test_a_file_that_breaks_off_while_it_is_read_is_told_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str) -> str:
        raise OSError(errno.EIO, "Input/output error")  # a read names no file

    monkeypatch.setattr("mmeval.metric.model_files._read_digest", broken)
    folder = write_files(tmp_path / "own", MODEL)

    words = f"its model {folder} lacks a readable copy of its files (Input/output error); "
    assert bind(batched, {"model": str(folder)}).without_models().startswith(words)


def test_a_folder_of_weights_that_does_not_exist_is_said_not_to(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WEIGHTS_DIR, str(tmp_path / "nope"))
    words = f"and MMEVAL_WEIGHTS_DIR names {tmp_path / 'nope'}, which is no folder"
    assert words in bind(batched, {"model": "me/absent"}).unavailable((), "some_task")

    monkeypatch.setenv(WEIGHTS_DIR, str(tmp_path))
    assert WEIGHTS_DIR not in bind(batched, {"model": "me/absent"}).unavailable((), "some_task")


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
def test_a_model_that_other_switches_make_unnecessary_is_not_missed(
    tool: Any, switches: Mapping[str, str], needed: bool, cache: Path
) -> None:
    bound = bind(tool, switches)

    assert bool(bound.without_models()) is bool(bound.at_once) is needed
    cached(cache, "me/scorer", COMMIT, MODEL)
    assert (bind(tool, switches).key != bound.key) is needed


def test_a_batched_metric_whose_switches_need_no_model_is_computed_by_any_process() -> None:
    speech_rate = load_metric("speech_rate")

    assert (bind(speech_rate).at_once, bind(speech_rate, {"source": "text"}).at_once) == (8, 0)


def test_results_say_name_revision_and_fingerprint_and_no_folder_of_this_machine(cache: Path) -> None:
    cached(cache, "me/scorer", COMMIT, MODEL)
    bound = bind(batched)

    model = bound.params["model"]
    assert bound.described["model"] == {key: model[key] for key in ("name", "revision", "fingerprint")}
    assert bound.definition["model"] == model["fingerprint"]
    assert bind(batched, bound.params).params == bound.params, "as a scoring process binds it again"


def test_a_relative_folder_starts_from_the_file_in_which_it_stands(tmp_path: Path) -> None:
    placed = batched.placed({"model": "./own", "most": 3}, tmp_path)

    assert placed == {"model": str(tmp_path / "own"), "most": 3}
    assert batched.placed({"model": "me/scorer"}, tmp_path) == {"model": "me/scorer"}


@pytest.mark.parametrize(
    "written", ["scorer", "../../x/y@", "me/scorer/more", "me/..", "me/scorer@a..b", 5, {"name": 5}]
)
def test_what_names_no_model_is_refused(written: Any) -> None:
    if written == "../../x/y@":
        assert bind(batched, {"model": written}).without_models()  # a folder may be called so
        return
    with pytest.raises(UsageError, match="the switch 'model' of the metric 'batched' must be"):
        bind(batched, {"model": written})


@pytest.mark.parametrize("files", [(), "config.json", ("../a",), ("a|/b",)])
def test_the_files_of_a_model_are_named_and_lie_inside(files: Any) -> None:
    with pytest.raises(PluginError, match="a model of a metric"):
        HubModel(files)


class Loads:
    """Counts how often a model is loaded."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str]] = []

    def load(self, folder: Path, device: str) -> str:
        self.made.append((folder.name, device))
        return f"{folder.name} on {device}"


@pytest.mark.parametrize("found", [{"name": "me/scorer", "fingerprint": "f"}, {"name": "scorer", "folder": "/x"}])
def test_what_a_model_was_found_to_be_is_not_for_a_user_to_write(found: Mapping[str, str]) -> None:
    with pytest.raises(UsageError, match="'model' of the metric 'batched' must be owner/name"):
        batched.consented({"model": found}, trust=False)
    assert batched.consented({"model": {"name": "me/scorer", "revision": "v1"}}, trust=False)


def test_a_metric_that_is_given_no_model_says_what_to_set() -> None:
    with pytest.raises(MissingDataError, match="no model is named; set the switch to owner/name"):
        model_folder(bound_model("", HubModel(FILES)))


def test_a_model_is_loaded_once_for_each_folder_device_and_way(tmp_path: Path) -> None:
    loads = Loads()
    one, other = (bound_model(str(write_files(tmp_path / name, MODEL)), HubModel(FILES)) for name in ("one", "other"))

    def in_half(folder: Path, device: str, size: int = 2) -> str:
        return f"{loads.load(folder, device)} / {size}"

    assert {loaded(one, loads.load) for _ in range(3)} == {"one on cpu"}
    assert {loaded(one, lambda folder, device: loads.load(folder, device) + "!") for _ in range(3)} == {"one on cpu!"}
    assert [loaded(one, partial(in_half, size=size)) for size in (2, 3, 3)] == [f"one on cpu / {n}" for n in (2, 3, 3)]
    use_device("mps")
    with pytest.raises(Exception, match="torch finds no device of the kind mps"):
        loaded(one, loads.load)
    use_device("cpu")
    assert loaded(other, loads.load) == "other on cpu"
    assert loads.made == [*[("one", "cpu")] * 4, ("other", "cpu")]


def test_files_that_are_not_right_lose_a_score_which_is_tried_again(tmp_path: Path) -> None:
    found = failed(bind(batched), WeightsError(tmp_path, "cannot be used"))

    assert {score.cause for score in found.values()} == {"lost"}


def test_a_model_whose_files_change_is_loaded_again(tmp_path: Path) -> None:
    loads = Loads()
    folder = write_files(tmp_path / "own", MODEL)
    before = bound_model(str(folder), HubModel(FILES))
    loaded(before, loads.load)
    write_files(folder, {"config.json": "{1: 2}"})

    loaded(bound_model(str(folder), HubModel(FILES)), loads.load)
    assert len(loads.made) == 2


def test_what_was_said_of_a_medium_is_remembered_as_long_as_the_medium() -> None:
    clip, again = Media.from_bytes(b"clip"), Media.from_bytes(b"clip")
    asked: list[Media] = []

    def listen(media: Sequence[Media]) -> list[str]:
        asked.extend(media)
        return [one.read().decode() for one in media]

    asks = [(clip, 1), (clip, 1), (clip, 2), (again, 1)]
    assert [remembered_all([one], ("said", key), listen) for one, key in asks] == [["clip"]] * 4
    assert len(asked) == 3


def test_of_many_media_those_that_lack_are_worked_out_together_each_content_once() -> None:
    calls: list[list[bytes]] = []

    def listen(media: Sequence[Media]) -> list[str]:
        calls.append([one.read() for one in media])
        return [one.read().decode() for one in media]

    clips = [Media.from_bytes(text) for text in (b"a", b"b", b"a")]
    remembered_all(clips[:1], "said", listen)
    more = [*clips, Media.from_bytes(b"c"), Media.from_bytes(b"c")]

    assert remembered_all(more, "said", listen) == ["a", "b", "a", "c", "c"]
    assert remembered_all(more, "said", listen) == ["a", "b", "a", "c", "c"]
    assert calls == [[b"a"], [b"b", b"c"]]


def test_an_error_is_not_remembered_and_a_wrong_number_of_results_is_one() -> None:
    clip = Media.from_bytes(b"clip")

    with pytest.raises(ZeroDivisionError):
        remembered_all([clip], "said", lambda media: [1 // 0])
    with pytest.raises(PluginError, match="1 media were to be worked out together, and 2 results came back"):
        remembered_all([clip], "said", lambda media: ["a", "b"])
    assert remembered_all([clip], "said", lambda media: ["again"]) == ["again"]


# From outside: what a run says, what prepare fetches.


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub(models={"me/scorer": {COMMIT: ON_HUB}}) as running:
        yield running


def written(folder: Path, metrics: str) -> Path:
    text = f"task: weighed_task\nmetric_list: [{metrics}]\nmetadata: {{version: 1}}\n"
    return write_files(folder, {"t.yaml": text, "test.jsonl": '{"input": "q", "reference": "a"}\n'}) / "t.yaml"


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return written(tmp_path, "{metric: weighed}")


def command(folder: Path, *words: str | Path, **more: str) -> Ended:
    env = environment(
        **{"HF_HOME": str(folder / "home"), "NO_PROXY": "*", "PYTHONPATH": registered(folder / "site"), **more}
    )
    return mmeval(*words, env=env, cwd=folder)


def run(folder: Path, task: Path, *flags: str, **more: str) -> Ended:
    return command(folder, "--tasks", task, "--model", "reference", *flags, **more)


def switches_of(found: Any) -> Iterator[Mapping[str, Any]]:
    """The switches of metrics, wherever a results file says them."""
    for key, item in found.items() if isinstance(found, dict) else ():
        if key == "switches":
            yield item
        for inner in item if isinstance(item, list) else [item]:
            yield from switches_of(inner)


def value(folder: Path, name: str = "weighed") -> Any:
    return results(folder / "runs")["results"]["weighed_task"][f"{name},none"]


def test_a_metric_whose_model_lacks_is_unavailable_and_says_how_to_get_it(tmp_path: Path, task: Path) -> None:
    done = run(tmp_path, task)

    (warning,) = done.warnings
    assert "its model me/scorer at cccccccccccc is not here (config.json, model.safetensors or" in warning
    assert warning.endswith(f"run: mmeval prepare {task} --weights")
    assert run(tmp_path, task, "--strict").code == 4
    assert command(tmp_path, "validate", task).code == 0


def test_prepare_fetches_it_when_asked_and_only_the_files_that_are_opened(
    hub: FakeHub, tmp_path: Path, task: Path
) -> None:
    online = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}
    without = command(tmp_path, "prepare", task, **online)
    assert (without.code, hub.fetched) == (0, [])
    assert "the metric weighed will be unavailable" in without.out

    done = command(tmp_path, "prepare", task, "--weights", **online)
    later = run(tmp_path, task)

    assert (done.code, later.code) == (0, 0), done.out + later.err
    assert sorted(hub.fetched) == ["config.json", "model.safetensors"]
    assert value(tmp_path) == 7.0


def test_a_model_without_a_revision_is_fetched_as_main_is_now_and_the_commit_is_told(
    hub: FakeHub, tmp_path: Path
) -> None:
    task = written(tmp_path, "{metric: weighed, model: me/scorer}")

    done = command(tmp_path, "prepare", task, "--weights", HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="0")
    assert run(tmp_path, task).code == 0

    assert f"commit {COMMIT}" in done.out
    assert f"to pin what was found, name the model me/scorer@{COMMIT} where the metric is listed" in done.out
    recorded = [switches for switches in switches_of(results(tmp_path / "runs")) if "model" in switches]
    assert {switches["model"]["revision"] for switches in recorded} == {COMMIT}


def test_a_file_of_which_the_hub_has_no_alternative_is_told(tmp_path: Path, task: Path) -> None:
    with FakeHub(models={"me/scorer": {COMMIT: {"config.json": b"{}"}}}) as hub:
        done = command(tmp_path, "prepare", task, "--weights", HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="0")

    assert done.code == 4
    assert "the hub has no file model.safetensors or pytorch_model.bin there" in done.out


def test_a_model_that_cannot_be_had_leaves_the_task_unready(tmp_path: Path, task: Path) -> None:
    done = command(tmp_path, "prepare", task, "--weights")

    assert done.code == 4
    assert "the metric weighed: its model me/scorer at cccccccccccc is not here" in done.out


def test_a_folder_of_ones_own_is_looked_into_first(tmp_path: Path, task: Path) -> None:
    write_files(tmp_path / "mine/me/scorer", {"config.json": "{}", "model.safetensors": "four"})

    done = run(tmp_path, task, **{WEIGHTS_DIR: str(tmp_path / "mine")})

    assert done.code == 0, done.err
    assert value(tmp_path) == 4.0


def test_a_task_file_may_name_a_folder_beside_it_and_the_run_can_be_scored_again(tmp_path: Path) -> None:
    write_files(tmp_path / "own", MODEL)
    task = written(tmp_path, "{metric: weighed, model: ./own}")

    assert run(tmp_path, task).code == 0
    assert value(tmp_path) == 7.0
    (folder,) = (path.parent for path in (tmp_path / "runs").rglob("run.json"))
    again = command(tmp_path / "site", "score", folder, PYTHONPATH=registered(tmp_path / "site"))
    assert again.code == 0, again.err
    assert len(list((folder / "scores/weighed_task").iterdir())) == 1


def test_doctor_says_which_model_is_used_and_which_command_gets_one(tmp_path: Path, task: Path) -> None:
    asked = ("doctor", "--tasks", task, "--model", "reference")
    without = command(tmp_path, *asked)
    write_files(tmp_path / "mine/me/scorer", MODEL)
    done = command(tmp_path, *asked, **{WEIGHTS_DIR: str(tmp_path / "mine")})

    assert "its model me/scorer at cccccccccccc is not here" in without.out
    assert f"mmeval prepare {task} --weights" in without.out
    assert f"model of weighed: me/scorer, in {tmp_path / 'mine/me/scorer'}" in " ".join(done.out.split())


def test_the_list_of_metrics_names_their_models(tmp_path: Path) -> None:
    lines = command(tmp_path, "ls", "metrics", HF_HOME=str(tmp_path / "home")).out.splitlines()

    (listed,) = [line for line in lines if line.startswith("|weighed")]
    assert "model me/scorer (not here)" in listed


BY_HAND = "unpack it below MMEVAL_WEIGHTS_DIR"


@metric(range=(0, 1), version="1", source="test")
def compared(
    trial: Trial,
    *,
    clips: Annotated[Model, HubModel(("table.csv|", "audio/*.wav|*/*.mp3"), by_hand=BY_HAND)] = "me/clips",
) -> float:
    return 1.0


def test_what_the_hub_does_not_have_is_asked_of_the_user_and_never_fetched(cache: Path) -> None:
    bound = bind(compared)

    assert bound.without_models() == f"me/clips is not here (audio/*.wav or */*.mp3); {BY_HAND}"
    assert list(sources._models(bound)) == []


def test_a_star_stands_for_one_file_or_more_which_count_by_names_and_sizes(tmp_path: Path) -> None:
    def mark(name: str, files: Mapping[str, str]) -> str:
        write_files(tmp_path / name, files)
        return str(bind(compared, {"clips": str(tmp_path / name)}).params["clips"]["fingerprint"])

    same, again = (mark(name, {"audio/1.wav": "one", "audio/2.wav": "two"}) for name in "ab")
    others = [mark("c", {"audio/1.wav": "one"}), mark("d", {"dog/0.mp3": "one"}), mark("e", {"audio/1.wav": "ones"})]

    assert same == again
    assert len({same, *others}) == 4
    assert mark("f", {"audio/1.txt": "none"}) == ""
