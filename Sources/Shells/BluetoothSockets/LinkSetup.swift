import BluetoothTypes
import ControlLoop
import Glibc

/// Waits until a socket that is being connected is up, has failed, is late, or is no longer wanted.
///
/// The caller owns the descriptor and keeps it open until `established` has returned.
@ControlPlane
final class LinkSetup {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Result<Void, AudioLinkError>, Never>, DescriptorSource, Timer)
        case finished(Result<Void, AudioLinkError>)
    }

    private let descriptor: Int32
    private let codec: VoiceCodec
    private var state = State.idle

    init(descriptor: Int32, codec: VoiceCodec) {
        self.descriptor = descriptor
        self.codec = codec
    }

    /// - Parameter deadline: on the control loop's clock; afterwards the failure is `timedOut`.
    func established(by deadline: Instant) async -> Result<Void, AudioLinkError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { wait($0, until: deadline) }
        } onCancel: {
            Task { @ControlPlane in self.cancel() }
        }
    }

    /// Ends the wait with `cancelled`; does nothing once it has ended.
    func cancel() {
        finish(.failure(.cancelled))
    }

    private func wait(
        _ continuation: CheckedContinuation<Result<Void, AudioLinkError>, Never>, until deadline: Instant
    ) {
        switch state {
        case .idle: break
        case .finished(let result): return continuation.resume(returning: result)
        case .waiting: return continuation.resume(returning: .failure(.alreadyConnecting))
        }
        do throws(SystemError) {
            let source = try ControlLoop.shared.add(descriptor, .writable) { [weak self] readiness in
                self?.ready(readiness)
            }
            let timer = ControlLoop.shared.schedule(at: deadline) { [weak self] in
                self?.finish(.failure(.timedOut))
            }
            state = .waiting(continuation, source, timer)
        } catch {
            let result = Result<Void, AudioLinkError>.failure(AudioLinkError(error, codec: codec))
            state = .finished(result)
            continuation.resume(returning: result)
        }
    }

    private func ready(_ readiness: Readiness) {
        let code = pendingError(of: descriptor)
        if code != 0 {
            finish(.failure(AudioLinkError(SystemError(call: "connect", code: code), codec: codec)))
        } else if readiness.contains(.hangup) {
            // A socket that was closed under us without an error: the headset's link has gone.
            finish(.failure(.lost))
        } else if readiness.contains(.writable) {
            finish(.success(()))
        }
    }

    private func finish(_ result: Result<Void, AudioLinkError>) {
        let before = state
        switch before {
        case .finished: return
        case .idle: state = .finished(result)
        case .waiting(let continuation, let source, let timer):
            state = .finished(result)
            source.cancel()
            timer.cancel()
            continuation.resume(returning: result)
        }
    }
}
