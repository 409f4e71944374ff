"""UniM: questions and answers that interleave seven modalities, over thirty domains in three fields."""
