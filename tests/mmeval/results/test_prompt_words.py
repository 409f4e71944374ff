"""Whose words the prompts of a run are in."""

from typing import Any

from mmeval.results.prompt_words import prompts_json, released_share, words_note

RELEASED: dict[str, Any] = {
    "name": "tree",
    "sha256": "a" * 64,
    "text": "words",
    "released": "trees.judge",
    "assembled": "authors",
    "texts": [{"id": "trees.judge"}],
}
OWN = {"name": "leaf", "sha256": "b" * 64, "text": "our words"}
USERS = {"name": "root", "sha256": "c" * 64, "text": "their words", "words": "user"}


def test_a_released_prompt_is_its_digests() -> None:
    assert prompts_json([RELEASED]) == {
        "tree": {
            "sha256": "a" * 64,
            "words": "released",
            "assembled": "authors",
            "texts": [{"id": "trees.judge"}],
        }
    }


def test_a_prompt_that_two_tasks_share_is_listed_once() -> None:
    assert list(prompts_json([OWN, OWN])) == ["leaf"]


def test_two_texts_of_one_name_are_both_listed() -> None:
    other = {**OWN, "sha256": "d" * 64}
    assert list(prompts_json([OWN, other])) == ["leaf", f"leaf {'d' * 12}"]


def test_the_note_names_the_prompts_by_whose_words_they_are() -> None:
    rows = prompts_json([OWN, USERS, RELEASED])
    note = "prompts in the authors' words: tree; the user's: root; own: leaf"
    assert words_note(rows) == note


def test_a_run_without_released_words_has_no_note() -> None:
    assert words_note(prompts_json([OWN, USERS])) == ""


def test_the_share_counts_all_prompts() -> None:
    assert released_share(prompts_json([OWN, RELEASED])) == "1 of 2"
