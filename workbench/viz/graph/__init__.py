"""The picture of a graph diff: scene, fold, layout, and their static forms. The browser's twins of fold and layout lie
in ``workbench/widgets/static``.
"""
