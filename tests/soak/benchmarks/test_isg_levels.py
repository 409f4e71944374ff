"""Long chains of questions of ISG."""

from tests.stories.test_isg_levels import YES, about, graph, judged, pair, score, trial


def test_a_chain_of_a_thousand_and_three_thousand_questions_are_asked() -> None:
    chain = [about(n, *([n - 1] if n else [])) for n in range(1000)]
    done = judged("isg_image", trial(graph(image=chain)), YES)
    assert (done.score.value, len(done.waves)) == (1, 1000)
    wide = judged("isg_image", trial(graph(image=[about(n) for n in range(3000)])), YES)
    assert (wide.score.value, wide.waves) == (1, [3000])
    pairs = judged("isg_block", trial(graph([pair()] * 3000)), score(3))
    assert (pairs.score.value, pairs.waves) == (3, [3000])
