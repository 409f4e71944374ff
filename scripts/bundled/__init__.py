"""The bundled samples of benchmarks: for each a module that makes its rows and
media."""
