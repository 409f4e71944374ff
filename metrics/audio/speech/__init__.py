"""Speech in the sounds of an answer: its words, its voice, how high and how fast it speaks."""
