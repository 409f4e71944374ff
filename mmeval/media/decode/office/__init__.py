"""Office documents: text, slides and workbooks."""
