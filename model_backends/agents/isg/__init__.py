"""ISG-Agent: it plans an answer, carries the plan out with tools, and has the plan made
again where that failed."""
