"""What is replayed: records, loaders, the replayer, the bundled demo scenarios."""

if __name__ != "mnemoscope.scenarios":
    raise ImportError("import mnemoscope.scenarios, not scenarios: a bare import loads a second copy")
