"""MME-Unify: understanding, generation, and tasks that need both."""
