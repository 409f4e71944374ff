"""Recipes: workers for research models that have their own repository.

``facts`` holds what each model's repository states. ``models`` has the part of a worker
that calls the model, ``common.py.jinja`` what all these workers share. The protocol's
part comes from the worker that has no recipe.
"""
