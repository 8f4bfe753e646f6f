"""What all folders share: ports, errors, names, registry, ids, language."""
