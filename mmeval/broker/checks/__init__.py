"""Checks what backends can do, and whether their replies can be relied on."""
