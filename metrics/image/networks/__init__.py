"""Networks for pictures, and their embeddings."""
