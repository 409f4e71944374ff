"""UniM: interleaved questions and answers in seven modalities and thirty domains."""
