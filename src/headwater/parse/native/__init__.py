"""The busiest parts of the parser, compiled where there is a compiler.

Each means exactly what its twin in Python means, which is there on every machine; `accelerator`
chooses.
"""
