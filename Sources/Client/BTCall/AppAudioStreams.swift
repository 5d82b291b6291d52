import BTCallAPI
import BluetoothTypes
import ControlLoop
import DBus
import Glibc

/// The sockets behind ``AudioMixer``: one for each format.
@ControlPlane
final class AppAudioStreams {
    private struct Kind: Hashable {
        let format: AudioFormat
        let replacesMicrophone: Bool
    }

    private weak var connection: BridgeConnection?
    private var streams: [Kind: AppAudioStream] = [:]

    init(on connection: BridgeConnection) { self.connection = connection }

    func capture(_ buffer: AppAudioBuffer, replacingMicrophone: Bool) async throws(BridgeError) {
        let (bytes, frameBytes) = (buffer.bytes, buffer.frameBytes)
        guard frameBytes > 0, bytes.count % frameBytes == 0 else {
            throw BridgeError(
                .invalidArgument,
                "a block of audio with \(buffer.channels) channels has half a frame: pass whole frames, and 1 or 2 channels"
            )
        }
        // Otherwise the last of the others would keep the microphone away.
        end { $0.replacesMicrophone != replacingMicrophone }
        let kind = Kind(format: buffer.format, replacesMicrophone: replacingMicrophone)
        let stream = streams[kind] ?? AppAudioStream()
        streams[kind] = stream
        try await stream.write(bytes, frameBytes: frameBytes) { [self] () async throws(BridgeError) in
            try await open(kind)
        }
    }

    func stop() { end { _ in true } }

    private func end(_ isConcerned: (Kind) -> Bool) {
        for (kind, stream) in streams where isConcerned(kind) {
            streams[kind] = nil
            stream.end()
        }
    }

    private func open(_ kind: Kind) async throws(BridgeError) -> Int32 {
        guard let connection else { throw BridgeError(.noBus, "the bridge was closed: create another") }
        var options = kind.format.options
        options["stream"] = .bool(true)
        if kind.replacesMicrophone { options["replacesMicrophone"] = .bool(true) }
        let member = BTCallName.Audio.openInjection
        let answer = try await connection.request(
            BTCallPath.audio, BTCallName.Interface.audio, member, [.vardict(options)])
        return try BridgeAudio.socket(answer, 0, of: member, kind.format, isStream: true).takeDescriptor()
    }
}

/// One socket, opened with the first block, and again after btcalld has closed it.
@ControlPlane
private final class AppAudioStream {
    /// Times that btcalld may close a new socket before it accepts a byte.
    private static let mostRefusals = 2
    /// How long a restart of btcalld may take.
    private static let restartLimit = Duration.seconds(10)
    /// Between two requests for a new socket while btcalld restarts.
    private static let restartPause = Duration.milliseconds(100)

    private var descriptor: Int32 = -1
    /// There was a socket: while btcalld is away, it restarts.
    private var wasOpen = false
    private var isEnded = false
    /// A block is being written; the next ones wait in order.
    private var isBusy = false
    private var turns: [CheckedContinuation<Void, Never>] = []
    private var room: CheckedContinuation<Void, Never>?
    private var source: DescriptorSource?

    isolated deinit { close() }

    /// Drops the blocks that wait.
    func end() {
        isEnded = true
        close()
        resume()
    }

    func write(
        _ bytes: [UInt8], frameBytes: Int, open: @ControlPlane () async throws(BridgeError) -> Int32
    ) async throws(BridgeError) {
        await begin()
        defer { finish() }
        var sent = 0
        var refusals = 0
        while sent < bytes.count, !isEnded {
            guard !Task.isCancelled else { throw BridgeError(.cancelled, "cancelled") }
            if descriptor < 0 {
                guard refusals <= Self.mostRefusals else {
                    throw BridgeError(.failed, "btcalld closes the audio as soon as it is open: its log says why")
                }
                refusals += 1
                try await reopen(with: open)
                if isEnded { return close() }
            }
            let count = bytes.withUnsafeBytes {
                send(
                    descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent,
                    Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            let code = errno
            if count > 0 {
                sent += count
                refusals = 0
            } else if count < 0, code == EAGAIN {
                try await waitForRoom()
            } else if count == 0 || code != EINTR {
                // btcalld has gone: the next one gets whole frames.
                close()
                sent -= sent % frameBytes
            }
        }
    }

    /// Opens the socket. A btcalld that restarts is waited for.
    private func reopen(with open: @ControlPlane () async throws(BridgeError) -> Int32) async throws(BridgeError) {
        let end = ControlLoop.now.advanced(by: Self.restartLimit)
        while true {
            do throws(BridgeError) {
                descriptor = try await open()
                wasOpen = true
                return
            } catch {
                guard wasOpen, error.isDaemonAway, ControlLoop.now < end else { throw error }
            }
            await ControlLoop.shared.sleep(for: Self.restartPause)
            guard !isEnded else { return }
            guard !Task.isCancelled else { throw BridgeError(.cancelled, "cancelled") }
        }
    }

    private func begin() async {
        guard isBusy else {
            isBusy = true
            return
        }
        await withCheckedContinuation { turns.append($0) }
    }

    private func finish() {
        if turns.isEmpty {
            isBusy = false
        } else {
            turns.removeFirst().resume()
        }
    }

    private func waitForRoom() async throws(BridgeError) {
        var failure: SystemError?
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                room = continuation
                do throws(SystemError) {
                    source = try ControlLoop.shared.add(descriptor, .writable) { [weak self] _ in self?.resume() }
                } catch {
                    failure = error
                    resume()
                }
            }
        } onCancel: {
            Task { @ControlPlane in resume() }
        }
        if let failure { throw BridgeError(.failed, "the audio cannot be written: \(failure)") }
    }

    private func resume() {
        source?.cancel()
        source = nil
        room?.resume()
        room = nil
    }

    private func close() {
        source?.cancel()
        source = nil
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
