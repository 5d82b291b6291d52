/// Class of device announced by a peer (Assigned Numbers §2.8): 24 bits of service classes, major and minor class.
///
/// Used to sort devices into categories for the policy, never to refuse one: many headsets announce nonsense.
package struct ClassOfDevice: Hashable, Sendable {
    package enum Category: String, Hashable, Sendable {
        case headset, speaker, watch
    }

    package let bits: UInt32

    package init(bits: UInt32) {
        self.bits = bits & 0xFF_FFFF
    }

    package var majorClass: UInt32 { bits >> 8 & 0x1F }
    package var minorClass: UInt32 { bits >> 2 & 0x3F }

    /// Whether it announces that it plays or records sound: audio/video except displays, cameras and games. No set bit
    /// announces nothing.
    package var isAudio: Bool {
        switch (majorClass, minorClass) {
        case (0x04, 0...2), (0x04, 4...8), (0x04, 10): true
        default: false
        }
    }

    /// Separates loudspeakers (audio/video, minor class 5) and wrist watches (wearable, minor class 1); everything else is
    /// treated as a headset.
    package var category: Category {
        switch (majorClass, minorClass) {
        case (0x04, 0x05): .speaker
        case (0x07, 0x01): .watch
        default: .headset
        }
    }
}
