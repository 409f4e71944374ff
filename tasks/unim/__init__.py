"""UniM: interleaved questions and answers of seven modalities in thirty domains."""
