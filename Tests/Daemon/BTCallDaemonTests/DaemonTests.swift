import TestSupport
import Testing

/// The whole daemon in a simulated environment. Run one at a time: each has threads that must not starve.
@Suite(.serialized, .onceMoreAfterStall(milliseconds: 100)) struct DaemonTests {}
