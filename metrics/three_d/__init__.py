"""Metrics of meshes and point clouds."""
