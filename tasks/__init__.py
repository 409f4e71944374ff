"""mmeval.tasks"""
