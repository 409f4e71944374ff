"""Runs compared, from their folders alone: paired tests, what they could have seen, and
where runs differ."""
