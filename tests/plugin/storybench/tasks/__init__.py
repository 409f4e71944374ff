"""Task files of storybench."""
