"""What more than one suite needs to train a network: loop, augmentation, a pretrained backbone, export."""
