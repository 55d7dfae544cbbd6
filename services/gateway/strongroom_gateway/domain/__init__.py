"""Pure rules: who owns a path, how often one may knock, which headers are ours, how documents are merged."""
