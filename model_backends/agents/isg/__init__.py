"""ISG-Agent: plans an answer and carries out the plan with tools.

If the plan fails, it plans again.
"""
