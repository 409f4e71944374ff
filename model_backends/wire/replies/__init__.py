"""Reads the replies of servers: parts of answers, streams, and errors in any form."""
