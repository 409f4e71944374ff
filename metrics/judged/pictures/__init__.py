"""Questions to a judge about pictures: presence, counts, places, text and claims."""
