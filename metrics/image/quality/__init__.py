"""The terms of the quality of a picture: statistics of natural scenes, and UniM's released stand-ins."""
