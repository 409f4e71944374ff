"""MME-Unify: understanding tasks, generation tasks, and tasks that need both."""
