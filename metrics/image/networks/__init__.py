"""Networks that compute features and embeddings of pictures."""
