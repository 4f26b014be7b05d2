"""HappyFaces: 200 labelled photos, one label, two features that could both explain it; find both.

Armstrong, Cooper, Daniels-Koch and Gorman, "The HappyFaces Benchmark", Aligned AI Limited, 2022.
"""
