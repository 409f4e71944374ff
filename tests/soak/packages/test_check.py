"""``mmeval check`` in processes of its own: what it imports, and a torch that works or
does not."""

import json
from pathlib import Path
from typing import Any

from tests.support.cli import ROOT, environment, mmeval_process
from tests.support.models import tiny_model
from tests.support.task_folder import write_files


def examined(*flags: str, **more: str) -> dict[str, Any]:
    done = mmeval_process("check", *flags, "--json", env=environment(**more))
    assert "Traceback" not in done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_torch_is_not_imported_unasked_and_one_that_breaks_is_found(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "imported"
    code = (
        f"open({str(mark)!r}, 'w')\nraise ImportError('libcudart.so.12: cannot open')\n"
    )
    write_files(tmp_path / "torch", {"__init__.py": code})
    path = f"{tmp_path}:{ROOT}"
    examined(PYTHONPATH=path)
    assert not mark.exists()
    found = examined("--devices", PYTHONPATH=path)["findings"]
    (torch,) = [one for one in found if one["subject"].get("name") == "torch"]
    assert torch["severity"] == "error"
    assert "libcudart.so.12" in torch["cause"] and mark.exists()


def test_a_local_model_is_described_and_the_devices_of_torch_with_it() -> None:
    found = examined("--model", "hf", "--model_args", f"pretrained={tiny_model('llm')}")
    facts = dict(reversed(found["facts"]))
    assert found["exit_code"] == 0
    assert "takes text, code; gives" in facts["model"]
    assert facts["device"].startswith("torch 2.")
