"""Programs that yield calls: Call, Reply, Role, protocols and prompts."""
