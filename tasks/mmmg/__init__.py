"""MMMG: instructions for pictures, sound, speech and interleaved answers, each scored by a check of its own."""
