"""The frequencies of a recording: spectrum, tones, and the noise between them."""
