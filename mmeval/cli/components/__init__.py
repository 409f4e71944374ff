"""Verbs that try one component by itself: a metric, an agent, a backend."""
