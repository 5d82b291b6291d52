package import BluetoothTypes

extension RoutingPolicy {
    /// The device of the board that would carry the calls at once if the headset that carries them fell silent now. Nil: no
    /// headset carries calls, or the board has no device for them.
    ///
    /// While the lost link of such a headset is being opened again, the device that bridges the wait.
    package func standIn(at now: Instant) -> LocalDevice? {
        let isOnHeadset = if let current { current.address != nil } else { reopeningSince != nil }
        guard isOnHeadset, demand == .path else { return nil }
        return findLocalDevice(at: now)?.local
    }
}
