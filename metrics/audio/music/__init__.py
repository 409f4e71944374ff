"""Music in the sounds of an answer: its beats and its tempo."""
