"""Converts documents to Markdown for a judge: PDF, office files, tables, texts,
pictures."""
