package import BlueZ
package import BluetoothTypes
import ControlLoop
import Diagnostics
import HandsFree
import Logging

// Decides which connections are accepted: one profile for each headset, and a limited number without a finished set-up.
extension HeadsetDirectory {
    /// Most connections without a service level connection at once. Each of them ends after the set-up time.
    package static let halfOpenLimit = 8

    /// Refuses the Headset Profile for headsets that have another voice profile: some break with both at once, and a fallback
    /// would hide why the other one fails (docs/inside/Interop.md B17).
    package func checkHeadsetProfile(_ address: BluetoothAddress) throws(ConnectionRefusal) {
        guard servesHeadsetProfile else {
            throw ConnectionRefusal("the Headset Profile is off: `btcall config headsetProfile yes`")
        }
        guard registry.device(address)?.isHandsFree != true, sessions[address]?.profile != .handsFree else {
            throw ConnectionRefusal("it has the Hands-Free Profile, which is used instead of the Headset Profile")
        }
    }

    /// Ends a Headset Profile connection of a headset whose Hands-Free Profile became known only afterwards.
    package func leaveHeadsetProfile(_ device: DeviceRegistry.Device) {
        guard device.isHandsFree, let session = sessions[device.address], session.profile == .headset else { return }
        session.close("it has the Hands-Free Profile, which is used instead of the Headset Profile")
    }

    /// Closes the oldest half-open connections while their number is at the limit.
    package func makeRoom() {
        while true {
            let waiting = sessions.values.filter { !$0.isEstablished }
            guard waiting.count >= Self.halfOpenLimit,
                let oldest = waiting.min(by: { ($0.connectedAt, $0.address) < ($1.connectedAt, $1.address) })
            else { return }
            logger.warning(
                """
                \(oldest.address): disconnected: \(waiting.count) headsets have connected and said nothing useful, this \
                one first; switch off those that you do not use, or unpair them
                """)
            oldest.close("too many connections without set-up")
        }
    }

    /// Disconnects a headset that seems dead while the kernel still holds its earlier voice link: some controllers never
    /// notice that a headset is gone, and the kernel refuses each set-up (EBUSY) until they do.
    package func free(_ address: BluetoothAddress) {
        let logger = logger.about(headset: address)
        logger.warning(
            """
            \(address): does not answer, and the controller still holds its voice link: it is disconnected to free the \
            controller; switch it off and on if it does not come back
            """)
        disconnecting.insert(address)
        changes.send(.freed(address))
        Task { @ControlPlane in
            defer { disconnecting.remove(address) }
            do throws(DeviceCallError) {
                try await registry.disconnect(address)
            } catch {
                logger.warning("\(address): not disconnected, its link stays blocked: \(error)")
            }
        }
    }

    /// Whether a known headset stays known: not when it was unpaired, nor when none of its profiles is served.
    package func isServed(_ address: BluetoothAddress) -> Bool {
        guard let device = registry.device(address), device.paired else { return false }
        return isServed(device) || !device.isHeadset
    }

    /// Whether a profile of the device is served here.
    package func isServed(_ device: DeviceRegistry.Device) -> Bool {
        device.isHandsFree || servesHeadsetProfile && device.isHeadset || servesA2DP && device.isAudioSink
    }

    package func adapter(of address: BluetoothAddress) -> BluetoothAddress? {
        registry.device(address).flatMap { registry.adapter(path: $0.adapterPath)?.address }
    }
}
