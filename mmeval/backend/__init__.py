"""The contract of backends: capabilities, requests and conversion of media for a model."""
