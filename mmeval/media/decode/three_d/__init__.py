"""Converts files of 3D models into the forms that trimesh reads."""
