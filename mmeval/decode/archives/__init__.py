"""Archives: names, streams, tar and zip, unpacked behind limits."""
