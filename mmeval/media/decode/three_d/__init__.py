"""Files of 3D models, brought into the form that trimesh reads."""
