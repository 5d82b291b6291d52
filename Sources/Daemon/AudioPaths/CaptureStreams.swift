package import AudioEngine
package import ControlLoop
package import Logging
package import Routing

/// Separately opened microphones of local devices: opens them, attaches them to the paths of their devices, and closes them,
/// while playback continues.
///
/// Level-triggered: `follow` takes every step that is possible now. A microphone that is being closed is opened again only
/// when it is free.
@ControlPlane
package final class CaptureStreams {
    package enum Event {
        /// The prepared microphone has started or stopped delivering samples.
        case ready(Bool)
        /// A microphone has been opened.
        case opened
        /// A microphone cannot be opened, or has failed while no call used it; `retry` tries again.
        case failed(PathError)
    }

    /// The open path of a local device.
    package struct Path {
        package let terminal: UInt32
        package let kind: LocalDevice
    }

    private final class Stream {
        let identifier: UInt32
        let name: String
        let kind: LocalDevice
        let open: OpenCapture
        var isAlone: Bool
        var terminal: UInt32?
        var isRemoving = false
        /// Whether samples have arrived.
        var isFlowing = false

        init(identifier: UInt32, name: String, kind: LocalDevice, open: OpenCapture, isAlone: Bool) {
            self.identifier = identifier
            self.name = name
            self.kind = kind
            self.open = open
            self.isAlone = isAlone
        }
    }

    package var onEvent: (@ControlPlane (Event) -> Void)?
    /// Whether calls use microphones.
    package private(set) var isOpen = true
    /// Device whose microphone also runs between calls; nil: none.
    package private(set) var prepared: LocalDevice?
    private let engine: AudioEngine
    private let paths: any PathOpening
    private let logger: Logger
    private var streams: [Stream] = []
    private var nextIdentifier: UInt32 = 1
    /// Names that could not be opened, until `retry`.
    private var refused: Set<String> = []
    private var wasReady = false

    package init(engine: AudioEngine, paths: any PathOpening, logger: Logger) {
        self.engine = engine
        self.paths = paths
        self.logger = logger
    }

    /// Closes the streams; the engine has stopped.
    package func close() {
        for stream in streams { stream.open.close() }
        streams = []
    }

    package func set(isOpen: Bool, prepared: LocalDevice?) {
        self.isOpen = isOpen
        self.prepared = prepared
        refused = []
    }

    /// Allows another attempt for microphones that could not be opened.
    package func retry() { refused = [] }

    /// Whether the prepared microphone delivers samples.
    package var isReady: Bool {
        streams.contains { $0.name == preparedName && $0.isAlone && $0.isFlowing && !$0.isRemoving }
    }

    /// Whether no microphone is open or being closed.
    package var isEmpty: Bool { streams.isEmpty }

    /// Whether a microphone is being closed.
    package var isClosing: Bool { streams.contains { $0.isRemoving } }

    private var preparedName: String? { prepared.flatMap { paths.microphone(of: $0) } }

    private func stream(named name: String) -> Stream? { streams.first { $0.name == name } }

    /// Whether one of these paths has a separate microphone that is not open.
    package func isMissing(in users: [Path]) -> Bool {
        users.contains { user in
            guard let name = paths.microphone(of: user.kind) else { return false }
            return stream(named: name)?.isRemoving ?? true
        }
    }

    // MARK: Steps

    /// Opens the separate microphone of a device before its path is used, if it has one and it is wanted.
    ///
    /// - Throws: why the microphone cannot be used.
    package func open(for kind: LocalDevice) throws(PathError) {
        // A microphone that is being closed follows when it is free.
        guard isOpen, let name = paths.microphone(of: kind), stream(named: name) == nil else { return }
        try open(name, kind)
    }

    /// Closes microphones that no call uses, so that a call can have the card.
    ///
    /// - Returns: whether there are any: `captureRemoved` follows.
    package func giveBackUnused() -> Bool {
        var isAny = false
        for stream in streams where stream.terminal == nil {
            isAny = true
            remove(stream)
        }
        return isAny
    }

    /// - Parameter users: the open paths, the wanted one first.
    package func follow(_ users: [Path]) {
        var wanted: [(name: String, kind: LocalDevice)] = []
        func want(_ kind: LocalDevice) {
            guard let name = paths.microphone(of: kind), !wanted.contains(where: { $0.name == name }) else { return }
            wanted.append((name, kind))
        }
        if isOpen { for user in users { want(user.kind) } }
        if let prepared { want(prepared) }
        let alone = preparedName
        for stream in streams where !stream.isRemoving {
            guard wanted.contains(where: { $0.name == stream.name }) else {
                remove(stream)
                continue
            }
            guard stream.isAlone != (stream.name == alone) else { continue }
            stream.isAlone = stream.name == alone
            engine.setCaptureAlone(stream.identifier, stream.isAlone)
        }
        for (name, kind) in wanted where stream(named: name) == nil && !refused.contains(name) {
            do throws(PathError) {
                try open(name, kind)
            } catch {
                refused.insert(name)
                ControlLoop.shared.perform { [weak self] in self?.onEvent?(.failed(error)) }
            }
        }
        attach(users)
        reportReadiness()
    }

    private func attach(_ users: [Path]) {
        var taken: Set<String> = []
        for user in users {
            guard let name = paths.microphone(of: user.kind), let stream = stream(named: name), !stream.isRemoving,
                taken.insert(name).inserted, stream.terminal != user.terminal
            else { continue }
            // The path still has another microphone, which is being removed.
            guard !streams.contains(where: { $0.terminal == user.terminal }) else { continue }
            stream.terminal = user.terminal
            engine.attachCapture(stream.identifier, to: user.terminal)
        }
    }

    private func open(_ name: String, _ kind: LocalDevice) throws(PathError) {
        let open = try paths.openCapture(kind)
        let stream = Stream(
            identifier: nextIdentifier, name: name, kind: kind, open: open, isAlone: name == preparedName)
        do throws(AudioEngineError) {
            try engine.addCapture(stream.identifier, open.stream, runsAlone: stream.isAlone)
        } catch {
            open.close()
            throw PathError(
                device: kind, what: "the audio engine refuses the microphone \(name): \(error)",
                remedy: "see the lines before in the log")
        }
        nextIdentifier &+= 1
        streams.append(stream)
        logger.debug("opened the microphone of \(kind): \(open.summary)")
        onEvent?(.opened)
    }

    private func remove(_ stream: Stream) {
        guard !stream.isRemoving else { return }
        stream.isRemoving = true
        engine.removeCapture(stream.identifier)
    }

    private func reportReadiness() {
        let isReady = isReady
        guard isReady != wasReady else { return }
        wasReady = isReady
        onEvent?(.ready(isReady))
    }

    // MARK: Events of the engine

    package func flowing(_ identifier: UInt32) {
        streams.first { $0.identifier == identifier }?.isFlowing = true
        reportReadiness()
    }

    package func failed(_ identifier: UInt32, _ code: Int32) {
        guard let stream = streams.first(where: { $0.identifier == identifier }), !stream.isRemoving else { return }
        refused.insert(stream.name)
        remove(stream)
        reportReadiness()
        onEvent?(
            .failed(
                PathError(
                    device: stream.kind, what: "its microphone \(SystemError(call: "gives nothing", code: code))",
                    remedy: "plug the card in again, or see `dmesg`")))
    }

    /// The engine has released a stream; `follow` comes next.
    package func removed(_ identifier: UInt32) {
        guard let index = streams.firstIndex(where: { $0.identifier == identifier }) else { return }
        let stream = streams.remove(at: index)
        stream.open.close()
        logger.debug("closed the microphone of \(stream.kind)")
    }

    /// The engine has removed a path: its microphone stays open.
    package func pathRemoved(_ terminal: UInt32) {
        for stream in streams where stream.terminal == terminal { stream.terminal = nil }
    }
}
