package import AudioPaths
import BTCallAPI
import BluetoothTypes
package import CallControl
package import Configuration
package import ControlLoop
package import Logging
import Routing

/// Mutes the calls while the wearer of the headset that carries them has muted its microphone (`[calls] muteByHeadset`).
/// Headsets report that by a switch of their own (AT+ANDROID=XHSMICMUTE) or as a microphone volume of 0.
@ControlPlane
package final class HeadsetMute {
    private let settings: Settings
    private let router: any RouteDeciding
    private let calls: CallDirectory
    private let mute: MuteState
    private let microphone: MicrophoneControl
    private let headsets: HeadsetDirectory
    private let logger: Logger
    /// Microphone volumes from which headsets were turned down to 0.
    private var gains: [BluetoothAddress: Int] = [:]
    /// The headset that has muted the calls.
    private var source: BluetoothAddress?

    package init(
        settings: Settings, router: any RouteDeciding, headsets: HeadsetDirectory, calls: CallDirectory,
        audio: AudioParts, logger: Logger
    ) {
        self.settings = settings
        self.router = router
        self.headsets = headsets
        self.calls = calls
        mute = audio.mute
        microphone = audio.microphone
        self.logger = logger
        headsets.changes.subscribe(self) { headsetMute, change in
            switch change {
            case .microphoneTurned(let address, let old, let new): headsetMute.turned(address, old, new)
            case .microphoneMuted(let address, let isMuted): headsetMute.muted(address, isMuted)
            case .vanished(let address):
                headsetMute.gains[address] = nil
                if headsetMute.source == address { headsetMute.source = nil }
            default: break
            }
        }
        mute.changes.subscribe(self) { $0.muteChanged() }
    }

    private func turned(_ address: BluetoothAddress, _ old: Int?, _ new: Int) {
        if let old, old > 0, new == 0 { gains[address] = old }
        if new == 0 { muted(address, true) } else if old == 0 { muted(address, false) }
    }

    private func muted(_ address: BluetoothAddress, _ isMuted: Bool) {
        guard settings.configuration.mutesByHeadset, router.policy.current?.address == address else { return }
        if isMuted, !mute.isMuted, !calls.calls.isEmpty {
            source = address
            mute.set(true)
        } else if !isMuted, mute.isMuted {
            do throws(APIError) {
                try microphone.checkUnmuting()
                source = nil
                mute.set(false)
            } catch {
                logger.notice("\(address) cannot unmute: \(error)")
            }
        }
    }

    /// Somebody else has unmuted what the headset had muted: its microphone is turned up again, else its wearer would stay
    /// silent. A switch of the headset cannot be set from here.
    private func muteChanged() {
        guard !mute.isMuted, let address = source else { return }
        source = nil
        guard let headset = headsets.description(of: address), headset.isMicrophoneMuted else { return }
        if headset.microphoneVolume == 0, let gain = gains[address] {
            headsets.setMicrophoneVolume(UInt8(clamping: gain), of: address)
        }
        if headsets.description(of: address)?.isMicrophoneMuted == true, !calls.calls.isEmpty {
            logger.notice("\(address): its microphone is muted at the headset: unmute it there")
        }
    }
}
