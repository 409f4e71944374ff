"""The terms of a sound's quality: a module measures each, and one combines them."""
