"""Who talks: the gateway to language models, the writers, assistant profiles."""

if __name__ != "mnemoscope.agents":
    raise ImportError("import mnemoscope.agents, not agents: a bare import loads a second copy")
