/// Facts about a Bluetooth controller from its USB descriptors.
package enum USBDescriptors {
    /// Returns the alternate settings that carry voice: those of Bluetooth interfaces (class E0, 01, 01) with isochronous
    /// endpoints of any size (USB 2.0 §9.6.5, §9.6.6).
    ///
    /// - Parameter bytes: consecutive descriptors from the kernel; a damaged one ends the list.
    package static func voiceSettings(_ bytes: [UInt8]) -> Set<Int> {
        var settings: Set<Int> = []
        var current: Int?
        var rest = bytes[...]
        while let length = rest.first.map({ Int($0) }), length >= 2, length <= rest.count {
            let descriptor = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
            switch descriptor[1] {
            case 4 where length >= 9:
                let isBluetooth = descriptor[5] == 0xE0 && descriptor[6] == 1 && descriptor[7] == 1
                current = isBluetooth ? Int(descriptor[3]) : nil
            case 5 where length >= 7:
                let size = UInt16(descriptor[4]) | UInt16(descriptor[5]) << 8
                if let current, descriptor[3] & 3 == 1, size > 0 { settings.insert(current) }
            default: break
            }
        }
        return settings
    }
}
