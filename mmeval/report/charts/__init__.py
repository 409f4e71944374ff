"""Charts of a run's numbers as SVG, for the page and as files."""

from mmeval.report.charts.chosen import Chart, charts_of
from mmeval.report.charts.svg import png, standalone, written

__all__ = ["Chart", "charts_of", "png", "standalone", "written"]
