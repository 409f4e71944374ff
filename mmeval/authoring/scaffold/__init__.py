"""New packages from templates: a benchmark, a metric, a backend or an agent; and the
worker of a model.

Beside this file stands a folder of templates for each kind. ``NAME`` in a path is the
module's name, ``SUBTASK`` that of each task; the templates are Jinja with ``[= =]`` and
``[% %]``, so that prompts can be templates themselves.
"""
