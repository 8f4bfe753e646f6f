"""Reading text without assuming English: tokens, dates, sentences, safe cutting."""
