"""Reads the outputs of each of the nine tasks and hands them to the task that scores them."""

from countenance.suites.fhibe.reading import bodies, faces

SCORERS = {
    "person_localization": bodies.score_boxes,
    "face_localization": bodies.score_boxes,
    "person_parsing": bodies.score_masks,
    "keypoint_estimation": bodies.score_keypoints,
    "body_parts_detection": bodies.score_parts,
    "face_parsing": faces.score_parsing,
    "face_verification": faces.score_verification,
    "face_encoding": faces.score_pictures,
    "face_super_resolution": faces.score_pictures,
}
