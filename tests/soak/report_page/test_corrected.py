"""The page of a run with a corrected number, whose ratings have a hostile name."""

from pathlib import Path

from playwright.sync_api import expect

from tests.mmeval.trust.test_kept_numbers import ratings, stored
from tests.soak.support.chromium import Watched
from tests.support.cli import mmeval_process

NAME = "<img src=x onerror=alert(1)>"


def test_a_page_has_the_corrected_number_below_the_metric(
    seen: Watched, tmp_path: Path
) -> None:
    run = stored(tmp_path / "run")
    file = ratings(tmp_path, f"{NAME}.jsonl")
    # other processes: Chromium's driver has an event loop in this one
    mmeval_process("calibrate", run, "--ratings", file, "--metric", "right")
    mmeval_process("report", run, "--output_path", tmp_path / "page")
    page = seen.open(tmp_path / "page" / "index.html")
    corrected = page.get_by_text(f"right corrected ({NAME})").first
    expect(corrected).to_be_visible(timeout=20_000)
