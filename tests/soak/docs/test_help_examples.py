from pathlib import Path

from mmeval.cli.verbs import EXAMPLES
from tests.support.cli import environment, mmeval


def test_the_examples_of_the_help_work_in_their_order(tmp_path: Path) -> None:
    env = environment(MMEVAL_SCORE_WORKERS="0")
    for example in EXAMPLES:
        done = mmeval(*example.split()[1:], env=env, cwd=tmp_path)
        assert done.code == 0, done.err
