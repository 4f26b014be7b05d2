"""Shared by suites that train a network: loop, augmentation, a pretrained backbone, export."""
