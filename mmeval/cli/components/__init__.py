"""Verbs that try a single component: a metric, an agent or a backend."""
