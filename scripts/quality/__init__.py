"""What the page of the quality metrics is made of: material, its damages and the
pictures of both."""
