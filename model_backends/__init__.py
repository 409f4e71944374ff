"""The backends, which answer requests.

Each is a module or package with the name that ``--model`` uses.
"""
