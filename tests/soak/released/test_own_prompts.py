"""What the prompts of judges ask, where it decides scores."""

from pathlib import Path

import pytest

from mmeval.program.prompt_file import PromptTexts, find_prompt

JUDGED = Path(__file__).parents[3] / "metrics" / "judged"
GRAPH = Path(__file__).parents[3] / "tasks" / "isg" / "graph"


def words(name: str, home: Path = JUDGED) -> str:
    text = find_prompt(name, home / "prompts", PromptTexts()).text
    return " ".join(text.split())


@pytest.mark.parametrize(
    "name",
    [
        "isg_block_images",
        "isg_block_text_image",
        "isg_block_texts",
        "isg_holistic",
        "isg_image",
    ],
)
def test_judges_of_isg_are_not_asked_to_be_strict(name: str) -> None:
    assert "strict" not in words(name, JUDGED / "isg")


def test_the_golden_answer_is_shown_without_a_comment() -> None:
    asked = words("isg_holistic", JUDGED / "isg")
    assert "golden answer is" not in asked
    assert "Explain each of these scores" in asked


def test_one_malformed_chinese_character_makes_a_reading_empty() -> None:
    asked = words("picture_characters", JUDGED / "pictures")
    assert "the whole answer is empty" in asked


def test_grade_4_of_semantic_correctness_names_a_share_of_the_facts() -> None:
    assert "nine of ten" in words("semantic_correctness")


def test_statements_about_pictures_are_certain_and_not_abstract() -> None:
    asked = words("isg_graph_tuples", GRAPH)
    assert "only what is certain" in asked
    assert "are not entities" in asked


def test_relations_are_thought_about_first() -> None:
    assert "Think first" in words("isg_graph_relations", GRAPH)
