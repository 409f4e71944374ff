"""mmeval.metrics"""
