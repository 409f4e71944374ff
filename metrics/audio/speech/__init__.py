"""Speech in the sounds of an answer: its words, its voice, its pitch and its speed."""
