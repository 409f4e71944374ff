"""The embedded model ``tiny``, and how it is made."""
