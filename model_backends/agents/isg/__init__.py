"""ISG-Agent: plans an answer, carries out the plan with tools, and plans again if that
fails."""
