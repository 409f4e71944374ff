"""The terms of the quality of a sound: one module measures each, and one combines them."""
