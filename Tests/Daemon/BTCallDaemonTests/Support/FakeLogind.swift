import ControlLoop
import DBus
import Glibc

/// The part of systemd-logind for sleep, on a private bus.
@ControlPlane
final class FakeLogind {
    /// The lock requests: `sleep btcalld … delay`.
    private(set) var requests: [String] = []
    /// Whether a lock is held.
    private(set) var isDelayed = false
    var isPreparing = false
    /// The error of `Inhibit`.
    var refusal: BusError?
    private let bus: BusConnection
    private var source: DescriptorSource?
    private var ours: Int32 = -1

    init(_ address: BusAddress) async throws {
        bus = try BusConnection(address)
        bus.export([interface()], at: "/org/freedesktop/login1")
        try await bus.requestName("org.freedesktop.login1")
    }

    func announce(_ isComing: Bool) {
        isPreparing = isComing
        bus.emit(
            path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager", member: "PrepareForSleep",
            [.bool(isComing)])
    }

    func close() {
        source?.cancel()
        if ours >= 0 { Glibc.close(ours) }
        ours = -1
        bus.close()
    }

    private func interface() -> ExportedInterface {
        ExportedInterface(
            "org.freedesktop.login1.Manager",
            methods: [
                .init(
                    "Inhibit", in: [("what", "s"), ("who", "s"), ("why", "s"), ("mode", "s")], out: [("fd", "h")]
                ) { [unowned self] call throws(BusError) in
                    requests.append(call.arguments.compactMap(\.stringValue).joined(separator: "|"))
                    if let refusal { throw refusal }
                    return [.unixDescriptor(try lock())]
                }
            ],
            signals: [.init("PrepareForSleep", [("start", "b")])],
            properties: [
                .init("PreparingForSleep", "b", changes: .silent, get: { [unowned self] in .bool(isPreparing) })
            ])
    }

    private func lock() throws(BusError) -> PassedDescriptor {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .failed("no pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        source?.cancel()
        if ours >= 0 { Glibc.close(ours) }
        ours = ends[0]
        isDelayed = true
        do throws(SystemError) {
            source = try ControlLoop.shared.add(ends[0], .readable) { [unowned self] _ in
                isDelayed = false
                source?.cancel()
            }
        } catch {
            throw .failed("\(error)")
        }
        return PassedDescriptor(taking: ends[1])
    }
}
