"""A judge that compares the answers of runs, in pairs and in both orders."""
