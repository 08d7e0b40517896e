"""Anomaly mode."""


class detect_anomaly:
    pass


class set_detect_anomaly:
    pass
