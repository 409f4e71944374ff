"""Converts PDF, office files, tables, texts and pictures to Markdown for a judge."""
