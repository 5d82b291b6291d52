import BlueZ
import BluetoothTypes
import BusObjects
import CallControl
import Configuration
import ControlLoop
package import HeadsetControl
import Logging

// Headsets that come back by half, and the music that others play to them.
extension Daemon {
    package func joinExpectedProfiles() {
        expectedProfiles.serves = { [weak self] service in
            guard let self else { return false }
            return switch service {
            case .handsFree: profile.state == .registered
            case .headset: headsets.servesHeadsetProfile && headsetProfile.state == .registered
            default: false
            }
        }
        expectedProfiles.hasCalls = { [weak self] in self?.calls.calls.isEmpty == false }
        expectedProfiles.isSettingUpLink = { [weak self] in self?.admission.isSettingUp ?? false }
        expectedProfiles.onChange = { [weak self] _ in self?.routerObject?.refresh() }
        headsets.onSession = { [weak self] _ in
            self?.expectedProfiles.follow()
            self?.reconnector.follow()
        }
        headsets.onDismissal = { [weak self] address in self?.dismissed(address) }
    }

    package func joinPeace() {
        headsets.music = peace
        peace.ownMusic = media
        peace.isPlaying = { [weak self] address in
            guard let self else { return false }
            return media.isStreaming(address) || mediaSource.isForeignPlaying(address)
        }
        peace.hasCalls = { [weak self] in self?.calls.calls.isEmpty == false }
        router.onRestoreMedia = { [weak self] address in self?.peace.restoreDue(address) }
        admission.onSetUp = { [weak self] address in self?.peace.linkOpening(address) }
    }
}

extension Configuration {
    package var profileWaits: ProfileRepair.Waits {
        ProfileRepair.Waits(check: profileCheck, quiet: waits.profileQuiet, pause: waits.profilePause)
    }
}
