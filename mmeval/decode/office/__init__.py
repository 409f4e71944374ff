"""Office documents: docx, xlsx and pptx."""
