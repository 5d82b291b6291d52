import ControlLoop
import DBus

extension BusPeer {
    /// How to make a program release the A2DP streams of headsets, as the end of a sentence.
    package var mediaRemedy: String {
        switch program {
        case .pulseaudio: "remove module-bluetooth-discover from its default.pa or system.pa, or stop it"
        case .wireplumber, .pipewire: "take a2dp_source out of bluez5.roles in its Bluetooth settings, or stop it"
        case .bluealsa: "start it without `-p a2dp-source`, or stop it"
        case .btcalld: "another btcalld runs on this bus: stop one of the two"
        case .ofonod, .hsphfpd: "stop it"
        }
    }

    /// Finds the program that has headsets' A2DP streams, likeliest first; nil if no known one is present.
    @ControlPlane
    static func searchMediaOwner(_ bus: BusConnection) async -> BusPeer? {
        let found = await search(bus)
        // Of PipeWire's two processes the session manager is bluetoothd's client.
        for program in [Program.bluealsa, .wireplumber, .pipewire, .pulseaudio, .btcalld] {
            if let peer = found.first(where: { $0.program == program }) { return peer }
        }
        return nil
    }
}
