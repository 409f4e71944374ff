"""Check the installation and the machine; one module for each subject."""
