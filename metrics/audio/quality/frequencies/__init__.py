"""The frequencies of a recording: its spectrum, its tones, and the noise between them."""
