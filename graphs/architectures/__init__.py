"""The bundled architectures, one file each: a store, a WRITE graph and a READ graph."""
