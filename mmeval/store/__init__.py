"""The run folder: journal, segments, media, records of tasks and locks."""
