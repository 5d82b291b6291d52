import BTCall
import ControlLoop
import DBus
import Glibc

/// A deliberate leak with each call, to check that the judge detects it.
@ControlPlane
final class Leak {
    enum Kind: String, CaseIterable {
        case descriptor, memory, matchRule
    }

    private let kind: Kind
    private var subscriptions: [Subscription] = []
    private var calls = 0

    init(_ kind: Kind) { self.kind = kind }

    func hold(_ box: SoakBox) async {
        calls += 1
        switch kind {
        case .descriptor: _ = dup(2)
        // Written to, so that the pages are allocated.
        case .memory: malloc(4096)?.initializeMemory(as: UInt8.self, repeating: 1, count: 4096)
        case .matchRule:
            subscriptions.append(box.client.subscribe(interface: "org.example.Leak", member: "Member\(calls)") { _ in })
        }
    }
}
