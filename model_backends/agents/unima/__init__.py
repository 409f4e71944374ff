"""UniMA: an agent that describes what it is given, plans a report, checks it, and has
its items made."""
