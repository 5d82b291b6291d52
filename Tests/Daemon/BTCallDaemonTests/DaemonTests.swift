import Testing

/// The whole daemon with a simulated outside. One at a time: each has threads that must not starve.
@Suite(.serialized) struct DaemonTests {}
