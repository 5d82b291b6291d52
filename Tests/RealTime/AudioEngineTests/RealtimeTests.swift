import TestSupport
import Testing

/// All tests in real time, one after the other: they would disturb each other's timing.
@Suite(.serialized, .onceMoreAfterStall(milliseconds: 10)) struct RealtimeTests {}
