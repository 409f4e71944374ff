"""Terms of a picture's quality: natural scene statistics, UniM's stand-ins."""
