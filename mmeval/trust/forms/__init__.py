"""Reads and writes ratings in the forms of other programs, one module a form."""
