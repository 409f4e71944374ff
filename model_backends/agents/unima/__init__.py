"""UniMA, an agent that plans a report and makes the report's items.

It describes its input first, and checks the report.
"""
