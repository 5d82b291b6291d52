package import AudioDSP

/// The tones of a telephone network for the progress of a call, as published by national administrations (ITU-T E.180,
/// supplement 2).
package enum TonePlan: String, CaseIterable, Sendable {
    case eu, us, uk, fr

    package enum Signal: CaseIterable, Sendable {
        /// The other party is ringing.
        case ringback
        case busy
        /// The call cannot be completed.
        case congestion
        /// A second call is waiting.
        case waiting
    }

    package func tone(_ signal: Signal) -> ToneSpecification {
        switch (self, signal) {
        case (.eu, .ringback): ToneSpecification([425], cadence: [1_000, 4_000])
        case (.eu, .busy): ToneSpecification([425], cadence: [500, 500])
        case (.eu, .congestion): ToneSpecification([425], cadence: [250, 250])
        case (.eu, .waiting): ToneSpecification([425], cadence: [200, 200, 200, 5_000])
        case (.us, .ringback): ToneSpecification([440, 480], cadence: [2_000, 4_000])
        case (.us, .busy): ToneSpecification([480, 620], cadence: [500, 500])
        case (.us, .congestion): ToneSpecification([480, 620], cadence: [250, 250])
        case (.us, .waiting): ToneSpecification([440], cadence: [300, 10_000])
        case (.uk, .ringback): ToneSpecification([400, 450], cadence: [400, 200, 400, 2_000])
        case (.uk, .busy): ToneSpecification([400], cadence: [375, 375])
        case (.uk, .congestion): ToneSpecification([400], cadence: [400, 350, 225, 525])
        case (.uk, .waiting): ToneSpecification([400], cadence: [100, 4_000])
        case (.fr, .ringback): ToneSpecification([440], cadence: [1_500, 3_500])
        case (.fr, .busy): ToneSpecification([440], cadence: [500, 500])
        case (.fr, .congestion): ToneSpecification([440], cadence: [250, 250])
        case (.fr, .waiting): ToneSpecification([440], cadence: [300, 10_000])
        }
    }
}
