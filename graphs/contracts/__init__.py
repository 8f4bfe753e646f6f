"""What memories ask of a language model: one contract a file, each with its prompt, its reading and its rule."""
