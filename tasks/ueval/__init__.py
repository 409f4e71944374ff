"""UEval: questions whose answers need text and pictures, judged by rubrics."""
