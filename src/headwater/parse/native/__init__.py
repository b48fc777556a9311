"""Native: the busiest parts of the parser, compiled where there is a compiler.

Each does exactly the same as its twin in plain Python, which every machine has. `accelerator`
chooses between them.
"""
