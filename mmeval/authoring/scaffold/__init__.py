"""New packages from templates: a benchmark, a metric, a backend or an agent; and the
worker of a model.

Each kind has a folder of templates here. ``NAME`` in a path is the module's name,
``SUBTASK`` that of each task. The templates are Jinja with ``[= =]`` and ``[% %]``, as
prompts may be templates themselves.
"""
