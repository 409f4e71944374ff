"""UEval: the fields of its rows, the judge's replies and the metric."""
