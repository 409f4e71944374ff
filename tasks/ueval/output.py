FORMAT = None
