package import BTCallAPI
import BlueZ
package import BluetoothTypes
import Logging

// What was learnt of the codecs of headsets.
extension HeadsetDirectory {
    package func learnCodecs(of session: HeadsetSession) {
        codecMemories.learn(session.codecMemory, of: session.address, on: session.adapter)
    }

    /// A person wants all codecs to be tried again with a headset; the link that is open stays as it is.
    ///
    /// - Throws: `unavailable` for a headset of which nothing is known.
    package func forgetCodecs(of address: BluetoothAddress) throws(APIError) {
        guard sessions[address] != nil || described[address] != nil || codecMemories.knows(address) else {
            throw APIError(.unavailable, "no headset \(address) is known: see `btcall devices`")
        }
        codecMemories.forget(address)
        sessions[address]?.forgetCodecs()
        logger.notice("\(address): what was learnt of its codecs is forgotten, as asked")
    }

    /// Of headsets that are not paired any more with an adapter that is there.
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
