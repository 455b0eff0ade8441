"""The runs of a report: as they lie on disk, what tells them apart, their round trips."""
