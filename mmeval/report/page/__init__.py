"""Writes the report page as static files (see docs/design/report.md)."""

from mmeval.report.page.writer import PREVIEW_SECONDS, WrittenPage, write_report

__all__ = ["PREVIEW_SECONDS", "WrittenPage", "write_report"]
