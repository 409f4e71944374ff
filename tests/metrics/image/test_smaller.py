import numpy as np
import torch

from mmeval.metrics.image.smaller import at_smaller_size
from tests.support.pictures import even, noise


def test_both_get_the_lesser_sides_as_torch_resizes() -> None:
    wide, high = noise(37, 90, 1), noise(81, 53, 2)
    for one, other in ((wide, high), (high, wide), (noise(300, 41), noise(7, 500))):
        found = at_smaller_size(one, other)
        size = (min(one.shape[0], other.shape[0]), min(one.shape[1], other.shape[1]))
        for pixels, resized in zip((one, other), found, strict=True):
            channels = torch.from_numpy(pixels.astype(np.float32) / 255).permute(
                2, 0, 1
            )[None]
            expected = torch.nn.functional.interpolate(
                channels, size=size, mode="bilinear", align_corners=False
            )
            assert resized.dtype == np.float32
            np.testing.assert_allclose(
                resized, expected[0].permute(1, 2, 0).numpy(), atol=1e-6
            )


def test_pictures_of_one_size_keep_every_byte() -> None:
    one, other = noise(12, 20), even(12, 20, (0, 128, 255))
    for pixels, found in zip((one, other), at_smaller_size(one, other), strict=True):
        assert ((found * 255).astype(np.uint8) == pixels).all()


def test_values_by_hand() -> None:
    dot = even(1, 1, (51, 51, 51))
    row = np.array([[[0] * 3, [102] * 3, [255] * 3, [51] * 3]], np.uint8)
    two = at_smaller_size(row, even(5, 2, (255, 255, 255)))
    assert two[0][0, :, 0].tolist() == [np.float32(0.2), np.float32(0.6)]
    assert two[1].shape == (1, 2, 3)
    assert at_smaller_size(row, dot)[0].ravel().tolist() == [np.float32(0.7)] * 3
