"""UniMA: an agent that describes its input, plans a report, checks the report, and has
its items made."""
