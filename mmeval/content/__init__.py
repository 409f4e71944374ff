"""Parts, media, MIME types, placeholders and encoding of interleaved content."""
