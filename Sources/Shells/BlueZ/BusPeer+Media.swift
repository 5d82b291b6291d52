import BluetoothTypes
import ControlLoop
import DBus

extension BusPeer {
    /// Finds the program that has headsets' A2DP streams, likeliest first; nil if no known one is present.
    @ControlPlane
    static func searchMediaOwner(_ bus: BusConnection) async -> BusPeer? {
        let found = await search(bus)
        for program in [Program.bluealsa, .wireplumber, .pipewire, .pulseaudio, .btcalld] {
            if let peer = found.first(where: { $0.program == program }) { return peer }
        }
        return nil
    }
}
