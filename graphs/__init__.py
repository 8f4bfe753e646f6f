"""The state machines: architectures, the assistant graph, their nodes, the conformance kit."""

if __name__ != "mnemoscope.graphs":
    raise ImportError("import mnemoscope.graphs, not graphs: a bare import loads a second copy")
