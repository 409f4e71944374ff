"""``mmeval doctor`` as people run it: a process of its own, in installations that something is wrong with."""

from __future__ import annotations

import json
import os
import pty
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.installation import install_command
from tests.support.cli import ROOT, Ended, command, environment, mmeval
from tests.support.fake_hub import FakeHub
from tests.support.task_folder import write_files
from tests.support.tiny_benchmark import write_benchmark
from tests.support.tiny_models import tiny_model


def doctor(*flags: str | Path, **more: str) -> Ended:
    return mmeval("doctor", *flags, env=environment(**more))


def findings(done: Ended, section: str, status: str = "") -> list[dict[str, Any]]:
    """What a section of ``--format json`` holds, of one status or of all."""
    (found,) = (item for item in json.loads(done.out)["sections"] if item["name"] == section)
    return [item for item in found["findings"] if status in ("", item["status"])]


def one(done: Ended, section: str, words: str) -> dict[str, Any]:
    """The finding that holds some words."""
    (found,) = (item for item in findings(done, section) if words in item["what"])
    return found


def start_code(folder: Path, code: str) -> str:
    """The value of PYTHONPATH under which a process runs some code first."""
    write_files(folder / "start", {"sitecustomize.py": code})
    return f"{folder / 'start'}:{ROOT}"


def test_a_task_that_can_run_is_said_to_and_nothing_is_written(tmp_path: Path) -> None:
    task = write_benchmark(tmp_path / "tasks") / "tiny.yaml"

    done = mmeval("doctor", "--tasks", task, "--model", "empty", cwd=tmp_path, env=environment(PYTHONPATH=str(ROOT)))

    assert done.code == 0, done.out
    assert done.out.endswith("1 of 1 task can run here\n")
    assert "  ok       metrics that can be computed: exact_match\n" in done.out
    assert "\x1b" not in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["tasks"]


def test_machines_read_the_same_findings() -> None:
    done = doctor("--tasks", "rubric_example", "--judge", "empty", "--format", "json")

    document = json.loads(done.out)
    assert (done.code, document["sound"], document["mmeval"]) == (0, True, "0.1.0")
    assert one(done, "Task rubric_example", "asks the judge")["status"] == "ok"
    assert one(done, "Models", "judge: ")["status"] == "ok"


def test_it_takes_little_time_and_does_not_import_torch(tmp_path: Path) -> None:
    write_files(tmp_path / "torch", {"__init__.py": f"open({str(tmp_path / 'imported')!r}, 'w')"})
    started = time.monotonic()

    done = doctor("--format", "json", PYTHONPATH=f"{tmp_path}:{ROOT}")

    assert time.monotonic() - started < 5  # half a second where nothing else runs
    assert one(done, "Devices", "torch")["how_to"] == "mmeval doctor --devices"
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize(("colour", "painted"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_is_painted_unless_it_is_not_wanted(colour: dict[str, str], painted: bool) -> None:
    env = {name: value for name, value in environment(**colour).items() if name != "NO_COLOR" or colour}
    ours, theirs = pty.openpty()
    with subprocess.Popen(command("doctor"), env=env, stdout=theirs, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
        process.wait()
    os.close(ours)

    assert (b"\x1b[32m" in shown) is painted
    assert b"Installation" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_data_that_lack_are_told_with_the_command_that_fetches_them() -> None:
    done = doctor("--tasks", "unim_hard", "--format", "json")

    found = one(done, "Task unim_hard", "data: ")
    assert done.code == 4
    assert (found["status"], found["required"]) == ("missing", True)
    assert found["how_to"].startswith("mmeval prepare unim_hard; --data bundled takes the few samples")
    assert "metrics that can be computed: strict_structure, lenient_structure" in done.out


def test_the_way_to_look_at_data_that_cannot_be_read_has_the_folder_that_was_given(tmp_path: Path) -> None:
    task = "task: t\nmetric_list: [{metric: exact_match}]\nmetadata: {version: 1}\n"
    write_files(tmp_path, {"t.yaml": task, "data/test.jsonl": "no JSON\n"})

    done = doctor("--tasks", tmp_path / "t.yaml", "--data_dir", tmp_path / "data", "--format", "json")

    found = one(done, "Task t", "data: ")["how_to"]
    assert found.startswith("mmeval validate ") and found.endswith(f" --data_dir {tmp_path / 'data'}")


def test_a_first_row_that_cannot_be_asked_is_told_and_keeps_no_task_from_running(tmp_path: Path) -> None:
    task = "task: t\nmetric_list: [{metric: exact_match}]\nmetadata: {version: 1}\n"
    write_files(tmp_path, {"t.yaml": task, "data/test.jsonl": '{"id": "a"}\n{"input": "q"}\n'})

    done = doctor("--tasks", tmp_path / "t.yaml", "--data_dir", tmp_path / "data", "--format", "json")

    found = one(done, "Task t", "data: ")
    assert (done.code, found["status"]) == (0, "note")
    assert 'test.jsonl: row 1: "input" is missing' in found["what"] and found["how_to"].startswith("mmeval validate ")


def test_what_is_fetched_by_hand_is_told(tmp_path: Path) -> None:
    done = doctor("--tasks", "mmmg_audio_text_order", "--data_dir", tmp_path)

    assert done.code == 4
    assert f"put it at {tmp_path / 'seed_instruction'}" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("flags", "metrics", "code"),
    [((), "exact_match, rubric_judge", 0), (("--strict",), "exact_match, rubric_judge", 4), ((), "rubric_judge", 4)],
    ids=["another can be computed", "strict", "no other"],
)
def test_a_metric_that_cannot_be_computed_has_the_setting_that_changes_it(
    tmp_path: Path, flags: tuple[str, ...], metrics: str, code: int
) -> None:
    listed = "".join(f"  - metric: {name}\n" for name in metrics.split(", "))
    text = f"task: t\nmetric_list:\n{listed}metadata: {{version: 1}}\n"
    write_files(tmp_path, {"t.yaml": text, "test.jsonl": '{"input": "q", "reference": "a", "rubric": ["r"]}\n'})

    done = doctor("--tasks", tmp_path / "t.yaml", *flags, "--format", "json")

    assert done.code == code
    assert one(done, "Task t", "metric rubric_judge")["how_to"] == "add --role judge=BACKEND"


HIDDEN = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "jiwer" else found(name, *more)
"""


def test_a_metric_that_needs_an_extra_has_the_command_that_installs_it(tmp_path: Path) -> None:
    task = write_benchmark(tmp_path / "tasks") / "tiny.yaml"
    task.write_text(task.read_text().replace("exact_match", "wer"))

    done = doctor("--tasks", task, "--format", "json", PYTHONPATH=start_code(tmp_path, HIDDEN))

    found = one(done, "Task tiny", "metric wer: jiwer is not installed")
    assert (done.code, found["how_to"], found["required"]) == (4, install_command("text"), True)


def test_a_model_that_gives_nothing_of_what_is_wanted_is_told(tmp_path: Path) -> None:
    task = write_benchmark(tmp_path / "tasks") / "tiny.yaml"
    task.write_text(task.read_text().replace("[text]", "[audio]"))
    model = ("--model", "openai", "--model_args", "model=m,base_url=http://127.0.0.1:9/v1,endpoint=images")

    done = doctor("--tasks", task, *model, "--format", "json")

    assert done.code == 4
    assert one(done, "Task tiny", "the model gives no audio")["required"] is True
    assert "data go to 127.0.0.1:9; takes text, code, image; gives image" in one(done, "Models", "model: ")["what"]


@pytest.mark.parametrize(
    ("flags", "status", "words"),
    [
        (("--model", "openai", "--model_args", "model=m"), "missing", "OPENAI_API_KEY"),
        (("--model", "hf", "--model_args", "pretrained=./gone"), "missing", "there is no such folder"),
        (("--model", "empty", "--judge", "empty,colour=red"), "broken", "colour"),
    ],
    ids=["no key", "no folder", "argument"],
)
def test_a_backend_that_cannot_be_made_is_told(flags: tuple[str, ...], status: str, words: str) -> None:
    done = doctor(*flags, "--format", "json", OPENAI_API_KEY="", MMEVAL_DATA="bundled")

    assert done.code == 4
    (found,) = findings(done, "Models", status)
    assert words in found["what"]
    assert "Traceback" not in done.err


def test_an_unknown_name_is_a_usage_error() -> None:
    assert doctor("--model", "no_such_backend").code == 2
    assert doctor("--judge", "no_such_backend,model=m").code == 2
    assert doctor("--tasks", "no_such_task").code == 2
    assert doctor("--format", "xml").code == 2
    assert doctor("--data", "bundled", "--data_dir", "x").code == 2


# --- the installation ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what of the checkout runs, with an egg-info of its own."""
    folder = tmp_path_factory.mktemp("checkout")
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("mmeval", "tasks", "metrics", "model_backends"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    subprocess.run([sys.executable, "setup.py", "-q", "egg_info"], cwd=folder, check=True, capture_output=True)
    return folder


def examined(checkout: Path, **more: str) -> Ended:
    env = environment(PYTHONPATH=str(checkout), **more)
    return mmeval("doctor", "--format", "json", env=env, cwd=checkout)


def test_metadata_that_are_those_of_the_checkout_are_sound(checkout: Path) -> None:
    assert "the installed metadata match the code" in one(examined(checkout), "Installation", "metadata")["what"]


def test_metadata_that_are_stale_are_told_with_the_way_out(checkout: Path) -> None:
    entries = checkout / "mmeval.egg-info" / "entry_points.txt"
    before = entries.read_text()
    entries.write_text(before.replace("part_order =", "part_ordre ="))
    try:
        done = examined(checkout)
    finally:
        entries.write_text(before)

    found = one(done, "Installation", "stale, " + str(checkout))
    assert (done.code, found["status"]) == (4, "broken")
    assert "it lacks plugins of setup.cfg: mmeval.metrics part_order" in found["what"]
    assert "it has plugins that setup.cfg has not: part_ordre" in found["what"]
    assert found["how_to"].startswith('pip install -e "."; ')


def test_a_stranger_of_the_same_name_is_told(checkout: Path, tmp_path: Path) -> None:
    meta = "Metadata-Version: 2.1\nName: mmeval\nVersion: 0.2.1\nSummary: another project\n"
    write_files(tmp_path / "mmeval-0.2.1.dist-info", {"METADATA": meta})

    done = mmeval("doctor", "--format", "json", env=environment(PYTHONPATH=f"{tmp_path}:{checkout}"), cwd=tmp_path)

    found = one(done, "Installation", "another project of the same name")
    assert (found["status"], found["how_to"].partition(",")[0]) == ("broken", "pip uninstall mmeval")


def test_a_second_copy_of_the_package_is_told(checkout: Path) -> None:
    done = mmeval("doctor", "--format", "json", env=environment(PYTHONPATH=f"{checkout}:{ROOT}"), cwd=checkout)

    assert f"another copy of the package is in {ROOT}" in one(done, "Installation", "another copy")["what"]


def test_a_plugin_that_cannot_be_loaded_is_named_and_all_else_is_told(tmp_path: Path) -> None:
    meta = "Metadata-Version: 2.1\nName: dist-ill\nVersion: 1\n"
    lines = "[mmeval.metrics]\nill = ill_package:ill\nwer = ill_package:wer\n"
    write_files(tmp_path / "dist_ill-1.dist-info", {"METADATA": meta, "entry_points.txt": lines})
    write_files(tmp_path, {"ill_package.py": "raise RuntimeError('out of sorts')\n"})

    done = doctor("--format", "json", PYTHONPATH=f"{tmp_path}:{ROOT}")

    found = one(done, "Plugins", "dist-ill/ill")
    assert (done.code, found["status"]) == (4, "broken")
    assert "RuntimeError: out of sorts" in found["what"]
    assert found["how_to"] == "reinstall or remove it: pip uninstall dist-ill"
    assert one(done, "Plugins", "'wer'")["how_to"] == "write dist-ill/wer or mmeval/wer"
    assert one(done, "Plugins", "plugins can be loaded")["status"] == "ok"


def test_a_check_that_fails_is_a_finding(tmp_path: Path) -> None:
    where = start_code(tmp_path, "import shutil\ndef which(*_): raise OSError('no such thing')\nshutil.which = which\n")

    done = doctor("--format", "json", PYTHONPATH=where)

    (found,) = findings(done, "Programs")
    assert (found["status"], found["what"]) == ("broken", "programs could not be checked (OSError: no such thing)")
    assert "Traceback" not in done.err


# --- packages, devices, network --------------------------------------------------------------------------------------


def test_an_extra_that_lacks_a_package_or_has_an_old_one_has_the_command(tmp_path: Path) -> None:
    code = """
import importlib.metadata as m
before = m.version
def version(name):
    if name == "jiwer":
        raise m.PackageNotFoundError(name)
    return "9.1" if name == "pillow" else before(name)
m.version = version
"""
    done = doctor("--format", "json", PYTHONPATH=start_code(tmp_path, code))

    lacks, old = one(done, "Packages", "extra text: jiwer is not installed"), one(done, "Packages", "extra image")
    assert (lacks["status"], lacks["how_to"]) == ("note", install_command("text"))
    assert (old["status"], old["what"]) == ("broken", "extra image: pillow 9.1 is not >=11")
    assert old["how_to"] == 'pip install -U "pillow>=11"'


def test_an_extra_that_an_asked_task_takes_is_missing(tmp_path: Path) -> None:
    task = write_benchmark(tmp_path / "tasks") / "tiny.yaml"
    task.write_text(task.read_text().replace("exact_match", "wer"))
    code = (
        HIDDEN
        + """
import importlib.metadata as m
before = m.version
def version(name):
    if name in ("jiwer", "trimesh"):
        raise m.PackageNotFoundError(name)
    return before(name)
m.version = version
"""
    )
    done = doctor("--tasks", task, "--format", "json", PYTHONPATH=start_code(tmp_path, code))

    assert one(done, "Packages", "extra text: ")["status"] == "missing"
    assert one(done, "Packages", "extra 3d: ")["status"] == "note"


@pytest.mark.slow
def test_devices_are_looked_at_in_a_process_of_their_own() -> None:
    done = doctor("--devices", "--format", "json")

    found = findings(done, "Devices")
    assert found[0]["what"].startswith("torch 2.")
    assert any(item["what"].split(":")[0] in ("cpu", "mps", "cuda:0") for item in found)


@pytest.mark.slow
def test_a_local_model_is_described_and_its_devices_with_it() -> None:
    done = doctor("--model", "hf", "--model_args", f"pretrained={tiny_model('llm')}", "--format", "json")

    assert done.code == 0, done.out
    assert "on this machine; takes text, code; gives text, code" in one(done, "Models", "model: ")["what"]
    assert findings(done, "Devices")[0]["what"].startswith("torch 2.")


def test_a_torch_that_breaks_at_import_is_told(tmp_path: Path) -> None:
    write_files(tmp_path / "torch", {"__init__.py": "raise ImportError('libcudart.so.12: cannot open')\n"})

    done = doctor("--devices", "--format", "json", PYTHONPATH=f"{tmp_path}:{ROOT}")

    (found,) = findings(done, "Devices")
    assert (found["status"], found["what"]) == (
        "broken",
        "torch cannot be imported: ImportError: libcudart.so.12: cannot open",
    )


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_hub_that_answers_is_reachable() -> None:
    with FakeHub() as hub:
        done = doctor("--format", "json", HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="0", NO_PROXY="*")

    assert one(done, "Network", hub.url)["status"] == "ok"


def test_a_hub_that_does_not_is_waited_for_some_seconds_at_most(silent_server: str) -> None:
    started = time.monotonic()
    done = doctor("--format", "json", HF_ENDPOINT=silent_server, HF_HUB_OFFLINE="0", NO_PROXY="*")

    assert time.monotonic() - started < 3 + 5
    assert one(done, "Network", f"{silent_server} cannot be reached: ")["status"] == "note"


def test_nothing_secret_is_told(tmp_path: Path) -> None:
    secret = "s3cr3t-0123456789"
    done = doctor(
        *(
            "--format",
            "json",
            "--model",
            "openai",
            "--model_args",
            f"model=m,base_url=http://me:{secret}@127.0.0.1:9/v1",
        ),
        OPENAI_API_KEY=secret,
        HF_TOKEN=secret,
        HTTPS_PROXY=f"http://user:{secret}@proxy.example:3128",
    )

    assert secret not in done.out + done.err
    assert "OPENAI_API_KEY" in one(done, "Network", "keys in the environment")["what"]
    assert one(done, "Network", "token")["what"] == "a token of the hub is set: HF_TOKEN"
    assert "HTTPS_PROXY proxy.example:3128" in one(done, "Network", "proxies")["what"]


def test_tasks_may_be_named_as_words_too() -> None:
    done = doctor("mmmg_region_fill", "mmmg_border_fill", "--data", "bundled")

    assert (done.code, done.out.splitlines()[-1]) == (0, "2 of 2 tasks can run here")
    assert "Tasks mmmg_region_fill, mmmg_border_fill\n" in done.out
