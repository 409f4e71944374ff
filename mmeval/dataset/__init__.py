"""Data sets: the loader contract, loaders, the hub, bad samples and sampling."""
