"""Metrics for meshes and point clouds."""
