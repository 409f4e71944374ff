"""UEval: the fields of its rows, its judge's replies, and the metric over both."""
