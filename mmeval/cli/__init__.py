"""The command line: one module per verb, and one table of flags that the parser, the environment and files share."""
