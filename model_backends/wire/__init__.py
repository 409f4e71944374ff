"""Code for backends that call a server: they encode requests and decode replies."""
