"""The published data of UniM: folders, records and media, read as samples."""
