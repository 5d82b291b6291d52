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
    private var isPreparing: Bool
    /// The error of `Inhibit`.
    private let refusal: BusError?
    private let bus: BusConnection
    private var source: DescriptorSource?
    private var ours: Int32 = -1

    /// btcalld asks as soon as the name appears, so the answers are known before.
    init(_ address: BusAddress, refusal: BusError? = nil, isPreparing: Bool = false) async throws {
        self.refusal = refusal
        self.isPreparing = isPreparing
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

    /// A test that threw may not have closed it.
    isolated deinit { close() }

    /// Does nothing the second time.
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
                ) { [weak self] call throws(BusError) in
                    guard let self else { throw .failed("logind has gone") }
                    requests.append(call.arguments.compactMap(\.stringValue).joined(separator: "|"))
                    if let refusal { throw refusal }
                    return [.unixDescriptor(try lock())]
                }
            ],
            signals: [.init("PrepareForSleep", [("start", "b")])],
            properties: [
                .init(
                    "PreparingForSleep", "b", changes: .silent,
                    get: { [weak self] in .bool(self?.isPreparing ?? false) })
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
            source = try ControlLoop.shared.add(ends[0], .readable) { [weak self] _ in
                self?.isDelayed = false
                self?.source?.cancel()
            }
        } catch {
            throw .failed("\(error)")
        }
        return PassedDescriptor(taking: ends[1])
    }
}
