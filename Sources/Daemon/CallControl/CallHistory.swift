package import AudioDSP
package import AudioPaths
package import BTCallAPI
package import BluetoothTypes
package import ControlLoop

/// History of a call's audio: the devices that carried it one after the other, each with its quality.
package struct CallHistory: Sendable {
    /// The device that carries the audio of calls: one terminal of the engine.
    package struct Carrier: Equatable, Sendable {
        package var endpoint: AudioEndpoint
        /// Nil for a sound card.
        package var codec: VoiceCodec?
        /// The controller's connection handle of the link; nil for a sound card.
        package var handle: UInt16?
        /// Size of the received packets; 0 for a sound card and before the first packet.
        package var packetBytes = 0

        package init(_ endpoint: AudioEndpoint, codec: VoiceCodec? = nil, handle: UInt16? = nil) {
            self.endpoint = endpoint
            self.codec = codec
            self.handle = handle
        }
    }

    /// A period in which one device carried the call without interruption.
    package struct Stretch: Sendable {
        package var carrier: Carrier
        package let began: WallClock
        /// Nil while it lasts.
        package var ended: WallClock?
        package var quality = LinkQuality()
    }

    /// The most stretches kept; of more, the latest are kept.
    package static let maximumStretches = 100

    package private(set) var meter: LinkQualityMeter
    package private(set) var stretches: [Stretch] = []
    /// Number of stretches dropped because of `maximumStretches`.
    package private(set) var omittedStretches = 0
    /// Attempts to set up links that have not carried the call yet.
    private var earlyRetries: [AudioEndpoint: Int] = [:]

    /// - Parameter window: period covered by the recent quality.
    package init(window: Duration) {
        meter = LinkQualityMeter(window: window)
    }

    /// Whether no device has carried the call yet.
    package var isEmpty: Bool { meter.total.duration == .zero }

    /// The device that carries the call; nil while none does.
    package var carrier: Carrier? {
        guard let last = stretches.last, last.ended == nil else { return nil }
        return last.carrier
    }

    package mutating func begin(_ carrier: Carrier, at time: WallClock) {
        end(at: time)
        if stretches.count == Self.maximumStretches {
            stretches.removeFirst()
            omittedStretches += 1
        }
        var stretch = Stretch(carrier: carrier, began: time)
        stretch.quality.retries = earlyRetries.removeValue(forKey: carrier.endpoint) ?? 0
        stretches.append(stretch)
    }

    package mutating func end(at time: WallClock) {
        guard carrier != nil else { return }
        stretches[stretches.count - 1].ended = time
    }

    /// Adds the figures of the present carrier since the previous addition.
    package mutating func add(_ piece: LinkQuality, packetBytes: Int) {
        guard carrier != nil else { return }
        meter.add(piece)
        stretches[stretches.count - 1].quality += piece
        stretches[stretches.count - 1].carrier.packetBytes = packetBytes
    }

    /// Counts another attempt to set up a device's link.
    package mutating func retry(_ endpoint: AudioEndpoint) {
        var piece = LinkQuality()
        piece.retries = 1
        meter.add(piece)
        if carrier?.endpoint == endpoint {
            stretches[stretches.count - 1].quality += piece
        } else {
            earlyRetries[endpoint, default: 0] += 1
        }
    }
}

extension QualityDescription {
    package init(_ quality: LinkQuality) {
        self.init()
        score = quality.score
        durationMs = Self.milliseconds(quality.duration)
        packets = UInt64(clamping: quality.packetsReceived)
        lost = UInt64(clamping: quality.packetsLost)
        concealedMs = Self.milliseconds(quality.concealed)
        droppedMs = Self.milliseconds(quality.dropped)
        gaps = UInt64(clamping: quality.gaps)
        // Rounded to microseconds.
        jitterMs = (quality.jitter / .microseconds(1)).rounded() / 1000
        driftPPM = quality.driftPPM.isFinite ? quality.driftPPM : 0
        retries = UInt64(clamping: quality.retries)
        xruns = UInt64(clamping: quality.xruns)
    }

    private static func milliseconds(_ duration: Duration) -> UInt64 {
        UInt64(clamping: duration.milliseconds)
    }
}

extension CallLinkDescription {
    /// Nil for an endpoint without a word on the bus.
    package init?(_ carrier: CallHistory.Carrier) {
        guard let device = DeviceWord(carrier.endpoint.description) else { return nil }
        self.init(
            device: device, handle: carrier.handle, codec: carrier.codec?.description,
            packetBytes: carrier.codec == nil ? 0 : UInt32(clamping: carrier.packetBytes))
    }
}
