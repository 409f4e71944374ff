"""mmeval.model_backends"""
