"""UniM: questions and answers that interleave any of seven modalities, over thirty domains in three fields."""
