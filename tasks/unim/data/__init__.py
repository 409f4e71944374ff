"""The published data of UniM: reads its folders, files of records and media as samples."""
