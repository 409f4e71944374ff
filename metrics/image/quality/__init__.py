"""What the quality of a picture is made of: the statistics of natural scenes, and UniM's released stand-ins."""
