"""The documents as tests: every fenced block of README.md, docs/ and the examples is run, or parsed by who reads it.

What the first word of a fence makes of a block:

    yaml            a config, or a part of one: `tollgate check` has nothing to say about it
    console         lines that begin with `$ ` are run, those that begin with `> ` are typed to them, and what stands below
                    is what they print: `…` is anything, digits are any digits, spaces do not count
    sh, python, js, ts, starlark
                    run; a failure is a failure. The output is not looked at
    rust FILE       stands in that file, which is compiled
    json, toml, ini parsed
    text            a drawing, or words to nobody

A second word is a file's name: the block is written to the folder in which the rest of the document runs
(`yaml tollgate.yaml`, `python server.py`, `text weather.txt`), and run only if it is called there. If the repository has
a file of that path, it is that file.
"""
