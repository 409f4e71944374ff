import re

from nltk.tokenize import NLTKWordTokenizer

from mmeval.metrics.text.words import count_words, tokens_of

WRITTEN = """
hello don't cannot CANNOT it's. (it's) we're 'tis 'twas gonna gotta wanna lemme gimme o'clock dogs', 'hello' 'yes,'
'em y'all you'll I'd more'n d'ye 3.5 1,000 x:3 $5 50% #tag @me a--b -- wait... so: yes, end. what? no! (a b) [c]
{d} <e> "quoted" "open close" « f » “g” ‘h’ x;y café
"""


def by_nltk(text: str) -> list[str]:
    """By the class that needs no data, sentence by sentence, where a sentence ends in a
    mark."""
    return [
        token
        for part in re.split(r"(?<=[.!?])\s+", text)
        for token in NLTKWordTokenizer().tokenize(part)
    ]


def test_each_word_is_cut_and_counted_as_nltk_does_it() -> None:
    texts = [f"so {word} it is" for word in WRITTEN.split()]
    for text in (*texts, WRITTEN):
        assert count_words(text) == sum(
            token.isalnum() or "'" in token for token in by_nltk(text)
        ), text
    assert {text: tokens_of(text) for text in texts} == {
        text: by_nltk(text) for text in texts
    }
    counts = {
        "": 0,
        "cannot": 2,
        "One stop. Two stops.": 4,
        "Dr. Who": 2,
        "section B. is long": 3,
    }
    assert {text: count_words(text) for text in counts} == counts
