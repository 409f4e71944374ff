"""Pages of the site that are made from docstrings and declarations."""
