"""What the backends that ask a server have in common: the way there and back."""
