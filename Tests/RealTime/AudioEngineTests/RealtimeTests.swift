import Testing

/// All tests that run against the clock, one after the other: they would disturb each other's timing.
@Suite(.serialized) struct RealtimeTests {}
