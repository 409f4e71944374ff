from mmeval.metrics.judged.pictures.readings import common_characters


def test_characters_in_common() -> None:
    assert common_characters("好好学习", "习学好") == "好好学习"
    assert common_characters("好好学习", "习学好", "set") == "好学习"
    assert common_characters("好", "") == ""
