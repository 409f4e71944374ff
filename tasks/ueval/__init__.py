"""UEval: questions whose good answer needs text and pictures, judged by criteria of
their own."""
