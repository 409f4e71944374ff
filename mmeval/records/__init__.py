"""The records that everything passes around: frozen, typed, JSON both ways."""
