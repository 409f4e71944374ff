"""The report page, static files from run folders: docs/design/report.md."""

from mmeval.report.page.writer import PREVIEW_SECONDS, WrittenPage, write_report

__all__ = ["PREVIEW_SECONDS", "WrittenPage", "write_report"]
