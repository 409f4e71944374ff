from collections import Counter
from pathlib import Path

from mmeval.metric.model_files_error import WeightsError
from mmeval.results.task_results import Unscored
from mmeval.run.complaints import lost_complaints, most_frequent
from mmeval.run.options import RunCounts
from mmeval.run.outcome import exit_code
from mmeval.run.progress import RunTally


def test_asking_again_is_advised_only_where_it_can_help() -> None:
    for failed, advice in (
        ({"server": 2}, (True, False, False)),
        ({"too_long": 2}, (False, True, False)),
        ({"bad_sample": 2}, (False, True, False)),
        ({"server": 2, "bad_request": 1}, (True, True, True)),
    ):
        (complaint,) = lost_complaints(RunTally(failed=Counter(failed)), again="AGAIN")
        found = complaint.partition("); ")[2]
        assert ("AGAIN" in found, "corrected" in found, " 1 " in found) == advice


def test_the_exit_code_depends_on_whether_more_was_lost_than_tolerated() -> None:
    assert exit_code(RunCounts(unsupported=2), 5) == 3
    cases = [
        (0, 0, 0, 0),
        (1, 0, 0, 3),
        (0, 1, 0, 3),
        (1, 1, 2, 0),
        (2, 1, 2, 3),
        (3, 0, 0.1, 3),
        (0, 20, 0.999, 3),
    ]
    for failed, unscored, tolerated, code in cases:
        assert (
            exit_code(
                RunCounts(new=20 - failed, failed=failed, unscored=unscored), tolerated
            )
            == code
        )


def test_a_share_tolerates_just_so_many_of_a_hundred() -> None:
    for percent in range(1, 100):
        counts = [RunCounts(new=100, unscored=lost) for lost in (percent, percent + 1)]
        assert [exit_code(each, percent / 100) for each in counts] == [0, 3], percent


def test_reasons_that_differ_in_what_they_quote_are_one() -> None:
    for reasons, text in (
        (["no 'mock 12'", "no 'mock 34...", "no ''"], " (for example, no 'mock 12')"),
        (["gone", "gone"], " (gone)"),
        (["open", "close"], " (1 of them: open)"),
        (["x" * 500], f" ({'x' * 200}...)"),
        ([], ""),
    ):
        assert (
            most_frequent(Counter(Unscored(reason, "lost") for reason in reasons))
            == text
        )


def test_what_to_do_about_the_files_of_a_model_is_not_cut_off(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    error = WeightsError(
        tmp_path, f"cannot be loaded: model.safetensors is damaged ({'header ' * 40})"
    )
    text = most_frequent(
        Counter([Unscored(f"WeightsError: {error.of_hub('me/scorer')}", "lost")])
    )
    assert "model me/scorer" in text
    assert f"...; delete {tmp_path / 'model.safetensors'}, then run: " in text
