"""Documents as Markdown: what a PDF, an office file, a table, a text or a picture of one says, for a judge to read."""
