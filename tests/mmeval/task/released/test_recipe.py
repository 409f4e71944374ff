"""A recipe extracts one text from a released file, which is never run."""

import pytest

from mmeval.task.released.recipe import Recipe, RecipeError

SCRIPT = '''
"""The module."""
RULES = """
  Judge {answer} as {{"Judge": true}}.
"""
STEPS = ["first step", "second step"]
NOTES = {"Full": "all of it", "Part": "some of it"}
ASK = lambda tree: f"Is there {tree} {{here}}?"
STRIPPED = """
A rule.
""".strip()

raise SystemExit("a released file is never run")


def judge(answer):
    """A docstring that is longer than twenty characters."""
    prompt = f"Answer: {answer.text!r}" + " in {braces}" " and words"
    send("short", "a text with more than twenty characters")
    send(text="the second text with many characters " + prompt)


def build():
    return f"Built from {name}"


class Judge:
    def ask(self):
        """Asks."""
        send("the words that a method sends")
'''


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        ("name :RULES", '\n  Judge {answer} as {{"Judge": true}}.\n'),
        ("name :RULES stripped", 'Judge {answer} as {{"Judge": true}}.'),
        ("name :STRIPPED stripped", "A rule."),
        ("name :STEPS[1]", "second step"),
        ('name :NOTES["Part"]', "some of it"),
        ("name :ASK", "Is there {tree} {{here}}?"),
        ("name judge:prompt", "Answer: {answer.text} in {{braces}} and words"),
        ("text judge:0/20", "Answer: {answer.text} in {{braces}} and words"),
        ("text judge:1/20", "a text with more than twenty characters"),
        ("text judge:2/20", "the second text with many characters {prompt}"),
        ("text Judge.ask:0/10", "the words that a method sends"),
        ("returned build:", "Built from {name}"),
        ("file", SCRIPT),
    ],
)
def test_a_recipe_extracts_a_text_from_a_script(recipe: str, text: str) -> None:
    assert Recipe(recipe).extract(SCRIPT) == text


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        ('section "Trees:" -> "Flowers:"', "Count trees.\n\nAll of them."),
        ('section "Flowers:"', "Count flowers."),
    ],
)
def test_a_section_ends_at_the_next_heading(recipe: str, text: str) -> None:
    content = (
        'Trees:\n"""\nCount trees.\n\nAll of them.\n"""\nFlowers:\nCount flowers.\n'
    )
    assert Recipe(recipe).extract(content) == text


def test_one_faulty_line_of_a_script_is_left_out() -> None:
    content = "KEY = # put the key here\nRULE = 'Judge it.'\n"
    assert Recipe("name :RULE").extract(content) == "Judge it."


@pytest.mark.parametrize(
    "written",
    [
        "",
        "name",
        "name :",
        "text judge:prompt",
        "text judge:0",
        "section Trees",
        "run x",
    ],
)
def test_words_that_are_not_a_recipe_are_refused(written: str) -> None:
    with pytest.raises(RecipeError, match="is not a recipe"):
        Recipe(written)


@pytest.mark.parametrize(
    "recipe",
    [
        "name :ABSENT",
        "name absent:prompt",
        "name :STEPS[7]",
        'name :NOTES["None"]',
        "text judge:9/20",
        "returned judge:",
        'section "Trees:"',
    ],
)
def test_a_file_without_the_text_is_an_error(recipe: str) -> None:
    with pytest.raises(RecipeError):
        Recipe(recipe).extract(SCRIPT)


@pytest.mark.parametrize("content", ["x =\ny =\n", "(" * 5000 + "\n)", "x = '\0'\n)"])
def test_a_file_that_is_not_python_is_an_error(content: str) -> None:
    with pytest.raises(RecipeError, match="is not Python"):
        Recipe("name :RULE").extract(content)


def test_a_script_that_is_nested_too_deeply_is_an_error() -> None:
    content = "RULE = " + " + ".join(["'Judge it.'"] * 1500)
    with pytest.raises(RecipeError):
        Recipe("name :RULE").extract(content)


def test_an_odd_escape_in_a_script_gives_no_warning() -> None:
    content = "PATTERN = '\\d'\nRULE = 'Judge it.'\n"
    assert Recipe("name :PATTERN").extract(content) == "\\d"
