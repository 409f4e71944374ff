"""What a model generates: how tokens are chosen, and the parts that are made of them."""
