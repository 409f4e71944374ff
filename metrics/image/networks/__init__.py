"""Networks that see pictures, and the embeddings that they give."""
