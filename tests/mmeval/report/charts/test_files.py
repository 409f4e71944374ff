from mmeval.report.charts import png
from mmeval.report.charts.bars import ChartBar, bars


def test_a_chart_becomes_a_png() -> None:
    drawing = bars("t", [("a", [ChartBar(0.5)])])
    data = png(drawing)
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20], "big") == 2 * drawing.width
