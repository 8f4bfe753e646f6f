"""What is remembered: items, stores, embedders, vector and lexical indexes."""

if __name__ != "mnemoscope.memory_backends":
    raise ImportError("import mnemoscope.memory_backends, not memory_backends: a bare import loads a second copy")
