"""What a recording holds at which frequencies: its spectrum, its tones, and the noise between them."""
