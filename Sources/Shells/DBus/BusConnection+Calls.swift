internal import BluetoothTypes
internal import CDBus
internal import ControlLoop
internal import Logging

/// A call that waits for its reply.
@ControlPlane
final class PendingCall {
    private let completion: @ControlPlane (Result<[Value], BusError>) -> Void
    var timer: Timer?

    init(_ completion: @escaping @ControlPlane (Result<[Value], BusError>) -> Void) {
        self.completion = completion
    }

    func finish(_ result: Result<[Value], BusError>) {
        timer?.cancel()
        completion(result)
    }
}

extension BusConnection {
    /// More bytes than this waiting to be written mean that the bus no longer reads.
    private static let maximumOutgoingBytes = 64 << 20

    /// Calls a method and waits for its reply.
    ///
    /// - Throws: the peer's error; `NoReply` after `timeout`; `Disconnected` when the bus is or goes away; `InvalidArgs` for
    ///   names and values that no message can carry; `BusError.cancelled` when the task is cancelled.
    package func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = [],
        timeout: Duration = .seconds(25)
    ) async throws(BusError) -> [Value] {
        let message = try Message.call(destination, path, interface, member, arguments)
        let cancellation = Cancellation()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<[Value], BusError>, Never>) in
                guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
                do throws(BusError) {
                    cancellation.serial = try start(message, timeout: timeout) { continuation.resume(returning: $0) }
                    cancellation.connection = self
                    cancellation.generation = generation
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        } onCancel: {
            Task { @ControlPlane in cancellation.cancel() }
        }
        return try result.get()
    }

    /// Calls a method without a task: `completion` comes later, exactly once unless the connection is closed first.
    package func send(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = [],
        timeout: Duration = .seconds(25), _ completion: @escaping @ControlPlane (Result<[Value], BusError>) -> Void
    ) {
        do {
            let message = try Message.call(destination, path, interface, member, arguments)
            try start(message, timeout: timeout, completion)
        } catch {
            loop.perform { completion(.failure(error)) }
        }
    }

    /// Calls a method without a reply. A call that cannot be sent is logged.
    package func post(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = []
    ) {
        do {
            let message = try Message.call(
                destination, path, interface, member, arguments, expectsReply: false)
            _ = try transmit(message)
        } catch {
            log.warning("\(interface).\(member) was not sent: \(error)")
        }
    }

    /// Sends a signal. A signal that cannot be sent is logged.
    ///
    /// - Parameter destination: nil for all subscribers.
    package func emit(
        path: String, interface: String, member: String, _ arguments: [Value] = [], destination: String? = nil
    ) {
        guard isConnected else { return }
        do {
            _ = try transmit(
                try Message.signal(
                    path: path, interface: interface, member: member, arguments, destination: destination))
        } catch {
            log.error("signal \(interface).\(member) was not sent: \(error)")
        }
    }

    /// Sends a call, registers it under its serial, and returns the serial.
    @discardableResult
    func start(
        _ message: Message, timeout: Duration,
        _ completion: @escaping @ControlPlane (Result<[Value], BusError>) -> Void
    ) throws(BusError) -> UInt32 {
        let serial = try transmit(message)
        let call = PendingCall(completion)
        let member = message.member
        call.timer = loop.schedule(after: timeout) {
            self.pending.removeValue(forKey: serial)?.finish(
                .failure(.noReply("no reply to \(member) within \(timeout.milliseconds) ms")))
        }
        pending[serial] = call
        return serial
    }

    /// Queues a message for the bus and returns its serial. Only `Hello` may precede the registration of the connection.
    func transmit(_ message: Message) throws(BusError) -> UInt32 {
        guard let handle, isConnected || message.member == "Hello", dbus_connection_get_is_connected(handle) != 0 else {
            throw .disconnected("there is no connection to the bus")
        }
        guard dbus_connection_get_outgoing_size(handle) < Self.maximumOutgoingBytes else {
            throw .limitsExceeded("the bus does not take our messages")
        }
        guard
            dbus_message_contains_unix_fds(message.handle) == 0
                || dbus_connection_can_send_type(handle, TypeCode.unixDescriptor) != 0
        else { throw .notSupported("this bus does not pass descriptors") }
        var serial: UInt32 = 0
        guard dbus_connection_send(handle, message.handle, &serial) != 0 else { throw .failed("out of memory") }
        return serial
    }

    func replyReceived(_ message: Message) {
        guard let call = pending.removeValue(forKey: message.replySerial) else { return }
        guard message.kind == .reply else { return call.finish(.failure(message.error)) }
        do {
            call.finish(.success(try message.arguments()))
        } catch {
            call.finish(.failure(error))
        }
    }

    /// State that a cancelled task needs about its call.
    @ControlPlane
    private final class Cancellation {
        weak var connection: BusConnection?
        var serial: UInt32 = 0
        var generation = 0

        nonisolated init() {}

        func cancel() {
            guard let connection, connection.generation == generation else { return }
            connection.pending.removeValue(forKey: serial)?.finish(.failure(.cancelled))
        }
    }
}
