"""MMMG: pictures, sound, speech and interleaved answers, with one metric per task."""
