import AudioDSP
import AudioEngine
package import BTCallAPI
package import ControlLoop
package import DBus
package import Logging

/// A program in place of the devices (`Audio1.OpenManual`): its audio goes to the far end of all calls, their audio comes to
/// it, and no device is opened. One program at a time.
@ControlPlane
package final class ManualRendering {
    /// Requested buffer in each direction. The kernel counts its own overhead, so the actual amount is 40 to 130 ms.
    private static let aheadBlocks = 8
    private let engine: AudioEngine
    private let bus: BusConnection
    private let logger: Logger
    private var watch: Subscription?
    private var identifier: UInt32 = 0

    /// The unique bus name of the program; nil without one.
    package private(set) var holder: String?
    /// Manual rendering has begun or ended.
    package let changes = Signal<Void>()

    package init(graph: AudioGraph, bus: BusConnection, logger: Logger) {
        engine = graph.engine
        self.bus = bus
        self.logger = logger
        graph.events.subscribe(self) { manual, event in
            if case .manualEnded = event { manual.ended() }
        }
    }

    /// Gives a program one descriptor to write to and one to read from. Manual rendering ends when the program closes either
    /// or leaves the bus.
    ///
    /// - Parameters:
    ///   - isStream: the descriptors are byte streams without message boundaries.
    ///   - busName: the requesting program.
    /// - Throws: `wrongState` while another program renders, `fault` if no descriptors can be created.
    package func open(
        _ format: AudioFormat, isStream: Bool, of busName: String
    ) throws(APIError) -> (uplink: PassedDescriptor, downlink: PassedDescriptor) {
        if let holder {
            throw APIError(
                .wrongState, "\(holder) renders the audio already, and only one program can: close it there first")
        }
        let bytes = Self.aheadBlocks * format.blockFrames * format.layout.frameBytes
        let (uplink, downlink) = try Self.pairs(isStream: isStream)
        uplink.limit(bytes: bytes)
        downlink.limitOurs(bytes: bytes)
        identifier &+= 1
        do throws(AudioEngineError) {
            try engine.attachManual(
                identifier, uplink: uplink.ours, downlink: downlink.ours, rate: format.rate, layout: format.layout,
                isStream: isStream)
        } catch {
            throw APIError(.fault, "the audio engine: \(error)")
        }
        holder = busName
        watch = bus.watchName(busName) { [weak self] owner in
            guard owner == nil, self?.holder == busName else { return }
            self?.engine.detachManual()
        }
        logger.notice("\(busName) renders the audio itself: \(format)\(isStream ? ", as streams" : "")")
        changes.send()
        return (uplink.theirs, downlink.theirs)
    }

    /// The program has closed an end, or has gone.
    private func ended() {
        guard let holder else { return }
        self.holder = nil
        watch?.cancel()
        watch = nil
        logger.notice("\(holder) has stopped rendering the audio: devices are used again")
        changes.send()
    }

    private static func pairs(
        isStream: Bool
    ) throws(APIError) -> (uplink: PassedSocketPair, downlink: PassedSocketPair) {
        do throws(SystemError) {
            let uplink = try PassedSocketPair(isStream: isStream)
            do throws(SystemError) {
                return (uplink, try PassedSocketPair(isStream: isStream))
            } catch {
                uplink.closeOurs()
                throw error
            }
        } catch {
            throw APIError(.fault, "no socket for the audio: \(error); see LimitNOFILE of the daemon")
        }
    }
}
