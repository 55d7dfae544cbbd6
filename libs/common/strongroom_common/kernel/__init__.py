"""The words every other room uses: time, ids, secrets, errors, names, kinds. Standard library only."""
