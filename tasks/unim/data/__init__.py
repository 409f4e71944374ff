"""The published data of UniM: its folders, files of records and media, made into samples."""
