"""The report page: a folder of static files, made from run folders alone. See docs/design/report-page.md."""

from mmeval.report.page.writer import PREVIEW_SECONDS, Made, write_report

__all__ = ["PREVIEW_SECONDS", "Made", "write_report"]
