"""From reports of the probe to a device profile. Nothing here simulates."""
