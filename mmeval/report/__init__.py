"""What a user sees of a run: tables, results files, progress and log."""
