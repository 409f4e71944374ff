"""The one reader of choices: forms of right answers, and answers that choose none."""

import pytest

from mmeval.metrics.text.choices.reader import (
    choice_score,
    find_choice,
    named_option,
)
from mmeval.tasks.mme_unify.mme_unify_choice import letter_of

TREES = {"A": "fir", "B": "yew", "C": "oak", "D": "elm"}
ANIMALS = {"A": "a cat", "B": "a dog", "C": "a hot dog", "D": "an owl"}

CHARACTERS = [
    "Ｃ",
    "（Ｃ）",
    "Ⓒ",
    "🅒",
    "🅲",
    "🇨",
    "𝐂",
    "\u200bC\u200b",
    "\ufeff**C**",
    "答案：Ｃ",
    "Ответ: С",  # a Cyrillic letter
]
WRAPPED = [
    r"\boxed{C}",
    r"\boxed{\textbf{C}}",
    r"\boxed{\text{(C)}}",
    r"$\boxed{\mathrm{C}}$",
    r"$$\boxed{\text{C. oak}}$$",
    r"\[\boxed{\text{oak}}\]",
    r"\fbox{C}",
    r"$C$",
    r"\textbf{C}",
    r"\textbf{Answer:} C",
    r"It has acorns, so \(\boxed{C}\).",
    "<answer>C</answer>",
    "<answer> (C) oak </answer>",
    "<Answer>It has acorns, so C.</Answer>",
    "A has needles. <final_answer>C</final_answer>",
    r"<answer>\boxed{C}</answer>",
    "<|begin_of_box|>C<|end_of_box|>",
    "[ANSWER]C[/ANSWER]",
    "<b>C</b>",
    "<p>The answer is <strong>C</strong>.</p>",
    "<think>A? B?</think><answer>C",
]
JSON = [
    '{"answer": "C"}',
    '{"Answer": "C"}',
    "{'answer': 'C'}",
    '```json\n{"answer": "C"}\n```',
    '{"answer": "C", "reason": "Option A has needles, B too."}',
    '{"reason": "Option A has needles.", "final_answer": "(C)"}',
    '{"choice": "C. oak"}',
    '{"answer": "oak"}',
    '{"answer": ["C"]}',
    '{"answer": {"letter": "C", "text": "oak"}}',
    '{"selected_option": "C"}',
    '{"C": "oak"}',
    '{"A": false, "C": true}',
    '["C"]',
    '"C"',
    'Here it is: {"answer": "C"}',
    '{"reason": "it has acorns", "answer": "C"',
]
QUOTED = [
    '"C"',
    "'C'",
    "“C”",
    "«C»",
    "„C“",
    "「C」",
    "`C`",
    "```\nC\n```",
    "(C)",
    "[C]",
    "[[C]]",
    "{C}",
    "<C>",
    "【C】",
    "《C》",
    "**C.**",
    "***(C)***",
    "__C__",
    "- C",
    "> C",
    "# C",
    "✅ C",
    "-> C",
    "c)",
    "C. oak",
    "C - oak",
    "(C) oak.",
    "oak (C)",
    "Option C",
    "Oak!",
]
LINES = [
    "C\n\nExplanation: acorns grow on it, and A has none.",
    "It has acorns.\n\n**C**",
    "(C)\nOption A has needles.",
    "C. oak\n\nThe others, fir, yew and elm, have no acorns.",
    "Oak\n\nIt is no fir, as a fir has cones.",
    "A. fir\nB. yew\nC. oak\nD. elm\n\nC",
    'The answer is C. {"confidence": 0.9}',
    "A and B have needles.\n### Answer\nC",
    "A fir has needles (A).\nA yew has berries (B).\nTherefore: C",
    "**Final Answer**\n\n(C)",
    "C because it has acorns",
    "C, since a fir has cones",
    "c) oak, as it has acorns",
]
ENGLISH = [
    "Answer: C",
    "The answer is C.",
    "The correct answer is (C) oak.",
    "The answer is the oak.",
    "The answer to this question is C because it has acorns",
    "My final answer: C",
    "Final answer — C",
    "The correct option is C, not A",
    "The best choice here would be C",
    "C is the correct answer",
    "Option C looks right",
    "I choose C",
    "I would go with option C",
    "It must be C.",
    "At first I thought the answer is A. Final answer: C",
    "Answer: A? No. Final answer: **(C)**",
]
LANGUAGES = {
    "zh": [
        "答案是C",
        "正确答案为“C”。",
        "因此选C",
        "我选 C",
        "选项C正确",
        "答案應該是C",
    ],
    "fr": ["La réponse est C.", "La bonne réponse est la C", "Réponse : C"],
    "es": ["La respuesta es C.", "La opción correcta es la C", "Respuesta: C"],
    "de": [
        "Die Antwort ist C.",
        "Die richtige Antwort lautet C",
        "Antwort C ist richtig",
    ],
    "ja": ["答えはCです", "正解：C", "Cが正解です", "選択肢Cを選びます"],
    "ko": ["정답은 C입니다.", "답: C", "C가 정답입니다"],
    "ru": ["Ответ: C", "Правильный ответ — C.", "Я выбираю вариант C"],
    "pt": ["A resposta é C.", "A alternativa correta é a letra C", "Gabarito: C"],
    "it": ["La risposta è C.", "La risposta corretta è la C", "Scelgo C"],
    "ar": ["الإجابة هي C", "الإجابة الصحيحة: C", "الجواب الصحيح هو (C)"],
    "hi": ["सही उत्तर C है", "उत्तर: C", "सही जवाब विकल्प C है"],
    "vi": ["Đáp án là C", "Đáp án đúng: C"],
    "id": ["Jawabannya adalah C", "Jawaban yang benar: C"],
    "tr": ["Doğru cevap C'dir", "Cevap: C"],
    "nl": ["Het antwoord is C"],
    "pl": ["Poprawna odpowiedź to C"],
}
REJECTING = [
    "not A but C",
    "It is not A, it is C.",
    "C, not A",
    "C rather than A",
    "Neither A nor B. C!",
    "A is wrong, so C",
    "A, B and D are incorrect. So it is C",
    "I rule out A and B, which leaves C",
    "Is it A? No, C.",
    "~~A~~ C",
    "The answer is not A but C",
    "The wrong answers are A and B; the right one is C",
    "It is not a fir, but an oak",
    "不是A，而是C",
    "答案不是A而是C",
    "nicht A, sondern C",
    "pas A mais C",
    "No es A sino C",
    "não é A, mas sim C",
    "Non è A, ma C",
    "не A, а C",
    "AではなくC",
    "A가 아니라 C",
    "ليس A بل C",
    "A नहीं, बल्कि C",
]
FORMS = {
    "characters": CHARACTERS,
    "wrapped": WRAPPED,
    "json": JSON,
    "quoted": QUOTED,
    "lines": LINES,
    "en": ENGLISH,
    **LANGUAGES,
    "rejecting": REJECTING,
}
NO_CHOICE = [
    "",
    "I do not know",
    "A good question",
    "The answer is unclear",
    "The answer is not given",
    "E",
    "<answer>E</answer>",
    '{"answer": "E", "why": "It is not C."}',
    '{"options": ["A", "B", "C", "D"]}',
    "firs",
    "A or C",
    "A, C",
    "A/C",
    "Either (A) or (C)",
    "Both A and C",
    "A and C are both plausible",
    "Answer: A, C",
    "Option A or option C",
    "not only A but also C",
    r"\boxed{A \text{ or } C}",
    '["A", "C"]',
    "a fir and an oak",
    "A. fir\nB. yew\nC. oak\nD. elm",
    "fir\nyew\noak\nelm",
    "It could be A. It could be B. It could be C.",
    "I would not choose C",
    "I would never choose (C).",
    "I don't want to pick an oak",
    "The answer is not (C).",
    "The answer isn't C",
    "C is wrong",
    "我不知道",
]


def forms() -> list[object]:
    return [
        pytest.param(form, id=f"{kind}-{number}")
        for kind, written in FORMS.items()
        for number, form in enumerate(written)
    ]


@pytest.mark.parametrize("form", forms())
def test_a_right_answer_is_read_in_each_form(form: str) -> None:
    assert find_choice(form, TREES).letter == "C"


@pytest.mark.parametrize(
    "answer", ["A or C", r"\boxed{C}", "not A but C", "<answer>E</answer>"]
)
def test_mme_unify_reads_as_choice_does(answer: str) -> None:
    options = [f"{letter}. {text}" for letter, text in TREES.items()]
    assert letter_of(answer, options) == find_choice(answer, TREES).letter


@pytest.mark.parametrize("answer", NO_CHOICE)
def test_an_answer_that_names_no_option_or_several_chooses_none(answer: str) -> None:
    assert find_choice(answer, TREES).letter is None


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        ('{"answer": "B"}', "json"),
        ("<answer>B</answer>", "tag"),
        (r"so \boxed{B}", "box"),
        ("a dog", "whole"),
        ("It barks.\nB", "last line"),
        ("Answer: B, because it barks", "stated"),
        ("B\nas it barks, and a cat does not", "first line"),
        ("I see option B there", "option"),
        ("B. It barks, A meows", "line"),
        ("It barks (B) loudly", "brackets"),
        ("It barks like B does", "letter"),
        ("It must be a dog!", "text"),
    ],
)
def test_the_rule_that_decided_is_known(answer: str, rule: str) -> None:
    assert find_choice(answer, ANIMALS) == ("B", rule)


def test_a_longer_text_hides_a_shorter_one_inside_it() -> None:
    assert find_choice("That must be a hot dog!", ANIMALS).letter == "C"


def test_a_letter_inside_the_text_of_an_option_is_not_a_choice() -> None:
    vitamins = {"A": "Vitamin D", "B": "Vitamin C", "C": "zinc"}
    assert find_choice("It lacks Vitamin C.", vitamins).letter == "B"


def test_a_text_with_marks_of_its_own_is_read() -> None:
    languages = {"A": "Java", "B": "C++", "C": "C#"}
    assert find_choice("C++", languages).letter == "B"


def test_a_number_is_not_found_inside_a_longer_one() -> None:
    counts = {"A": "3", "B": "13", "C": "3.5"}
    assert find_choice("I see 13 of them.", counts).letter == "B"


def test_a_text_of_a_script_without_blanks_is_found_between_others() -> None:
    sides = {"A": "左", "B": "右"}
    assert find_choice("我觉得在右边", sides).letter == "B"


def test_options_with_the_same_text_are_several() -> None:
    assert find_choice("red", {"A": "red", "B": "Red"}).letter is None


def test_the_first_of_two_letters_that_stand_apart_counts() -> None:
    assert find_choice("It shows B. I see C too.", TREES).letter == "B"


def test_a_letter_without_known_texts_is_read() -> None:
    letters = dict.fromkeys("ABCDEFGHIJ", "")
    assert find_choice("I think it is (J)", letters).letter == "J"


@pytest.mark.parametrize(
    "answer", ["A", "A because it meows", "A it is", "B is not the answer. A is."]
)
def test_a_capital_a_is_the_letter_where_no_article_could_stand(answer: str) -> None:
    assert find_choice(answer, ANIMALS).letter == "A"


@pytest.mark.parametrize("answer", ["A good question", "A bird has wings"])
def test_a_capital_a_before_other_words_is_an_article(answer: str) -> None:
    assert find_choice(answer, ANIMALS).letter is None


@pytest.mark.parametrize("label", ["B", "(b)", "B. a dog", "A dog"])
def test_a_label_names_its_option(label: str) -> None:
    assert named_option(label, ANIMALS) == "B"


def test_a_label_in_a_sentence_names_none() -> None:
    assert named_option("maybe a dog", ANIMALS) is None


def test_the_score_of_an_answer_without_an_option_is_wrong_and_says_so() -> None:
    score = choice_score(find_choice("no idea", ANIMALS), "B")
    assert score.value == 0
    assert score.evidence == {"found": None, "no_option": True}
