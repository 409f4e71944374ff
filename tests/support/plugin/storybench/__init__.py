"""A small benchmark in a package of its own: mmeval knows it by its entry points alone."""
