"""What the quality of a sound is made of: one module for each thing that is heard in it, and one that combines them."""
