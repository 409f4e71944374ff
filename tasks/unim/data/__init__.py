"""The published data of UniM: its folders, records and media as samples."""
