"""ISG-Agent plans an answer and carries out the plan with tools.

If the plan fails, the agent makes a new plan.
"""
