package import BTCallAPI
import BlueZ
package import BluetoothTypes
import Logging

// Learning and forgetting the codecs of headsets.
extension HeadsetDirectory {
    package func learnCodecs(of session: HeadsetSession) {
        codecMemories.learn(session.codecMemory, of: session.address, on: session.adapter)
    }

    /// Has all codecs tried again with a headset, on a person's request; the open link stays unchanged.
    ///
    /// - Throws: `unavailable` for an unknown headset.
    package func forgetCodecs(of address: BluetoothAddress) throws(APIError) {
        guard sessions[address] != nil || described[address] != nil || codecMemories.knows(address) else {
            throw APIError(.unavailable, "no headset \(address) is known: see `btcall devices`")
        }
        codecMemories.forget(address)
        sessions[address]?.forgetCodecs()
        logger.notice("\(address): its learnt codecs are forgotten, as requested")
    }

    /// Forgets headsets that are no longer paired with a present adapter.
    package func forgetCodecsOfUnpaired() {
        guard registry.isServicePresent else { return }
        let registry = registry
        codecMemories.forget { adapter, headset in
            guard sessions[headset] == nil, let path = registry.adapters.first(where: { $0.address == adapter })?.path
            else { return false }
            return !registry.devices.contains { $0.address == headset && $0.adapterPath == path && $0.paired }
        }
    }
}
