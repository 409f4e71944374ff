"""``mmeval doctor`` in processes of its own: what it imports, and a torch that works or
does not."""

import json
from pathlib import Path

from tests.support.cli import ROOT, environment, mmeval_process
from tests.support.task_folder import write_files
from tests.support.tiny_models import tiny_model


def examined(*flags: str, **more: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    done = mmeval_process("doctor", *flags, "--format", "json", env=environment(**more))
    assert "Traceback" not in done.err
    return done.code, {
        item["name"]: item["findings"] for item in json.loads(done.out)["sections"]
    }


def test_torch_is_not_imported_unasked_and_one_that_breaks_is_found(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "imported"
    code = (
        f"open({str(mark)!r}, 'w')\nraise ImportError('libcudart.so.12: cannot open')\n"
    )
    write_files(tmp_path / "torch", {"__init__.py": code})
    path = f"{tmp_path}:{ROOT}"
    _, found = examined(PYTHONPATH=path)
    assert (found["Devices"][-1]["how_to"], mark.exists()) == (
        "mmeval doctor --devices",
        False,
    )
    _, found = examined("--devices", PYTHONPATH=path)
    assert [one["status"] for one in found["Devices"]] == ["broken"]
    assert "libcudart.so.12" in found["Devices"][0]["what"] and mark.exists()


def test_a_local_model_is_described_and_the_devices_of_torch_with_it() -> None:
    code, found = examined(
        "--model", "hf", "--model_args", f"pretrained={tiny_model('llm')}"
    )
    assert code == 0
    assert "takes text, code; gives" in found["Models"][0]["what"]
    assert found["Devices"][0]["what"].startswith("torch 2.")
