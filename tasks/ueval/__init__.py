"""UEval: questions that require text and pictures, with answers judged by rubrics."""
