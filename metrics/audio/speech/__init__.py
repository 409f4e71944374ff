"""Speech in the sounds of an answer: words, voice, pitch and speed."""
