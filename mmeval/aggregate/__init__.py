"""Score columns, aggregators, standard errors and the bootstrap."""
