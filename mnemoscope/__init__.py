"""mnemoscope: replay conversations through memory-augmented assistants and see where a memory was lost."""

__version__ = "0.1.0"
