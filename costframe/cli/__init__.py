"""The command line: `costframe compare`, `fit`, `cost`, `inspect`, `algorithms` and `datasets`."""
