"""MME-Unify: tasks of understanding, of generation, and tasks that need both."""
