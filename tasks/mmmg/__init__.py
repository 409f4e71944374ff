"""MMMG: pictures, sound, speech and interleaved answers, each with its own metric."""
