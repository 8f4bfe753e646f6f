"""What is scored: detectors, metrics, loss attribution, statistics."""

if __name__ != "mnemoscope.evaluators":
    raise ImportError("import mnemoscope.evaluators, not evaluators: a bare import loads a second copy")
