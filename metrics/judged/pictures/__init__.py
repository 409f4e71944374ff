"""Questions about pictures: is it there, how many, where, what does it say, is it as the answer says."""
