"""Writes new packages from templates.

A package is a benchmark, a metric, a backend, an agent, or the worker of a model.

Each kind has a folder of templates here. ``NAME`` in a path is replaced by the module's
name, ``SUBTASK`` by the name of each task. The templates are Jinja with ``[= =]`` and
``[% %]``, as prompts may be templates themselves.
"""
