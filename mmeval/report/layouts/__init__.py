"""Makes the tables of papers, with models as rows, from layout files."""
