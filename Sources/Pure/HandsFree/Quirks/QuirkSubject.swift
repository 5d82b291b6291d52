package import BluetoothTypes

/// What is known of a headset, and of the machine that it is connected to: what rows are held against.
package struct QuirkSubject: Hashable, Sendable {
    package var address: BluetoothAddress
    /// The name that the headset gives itself; nil: not known.
    package var name: String?
    /// `org.bluez.Device1.Modalias`: `bluetooth:v004Cp2002d6DF1`, maker, product and version; nil: not known.
    package var modalias: String?
    package var controller = Controller()
    /// As `uname -r` says it; nil: not known.
    package var kernel: String?

    /// The Bluetooth controller.
    package struct Controller: Hashable, Sendable {
        /// Of the kernel: `hci0`; nil: there is none.
        package var name: String?
        /// Of its bus: `usb:v0A12p0001d8891…`; nil: not known, or none.
        package var modalias: String?
        /// Of the kernel: `btusb`, `hci_uart_bcm`; nil: not known.
        package var driver: String?
        /// `org.bluez.Adapter1.Manufacturer`: the company that made it, by its assigned number; nil with most versions of BlueZ.
        package var manufacturer: Int?
        /// Of the USB interface for voice, those that it has; empty: not USB, or not known.
        package var alternateSettings: Set<Int> = []

        package init(
            name: String? = nil, modalias: String? = nil, driver: String? = nil, manufacturer: Int? = nil,
            alternateSettings: Set<Int> = []
        ) {
            self.name = name
            self.modalias = modalias
            self.driver = driver
            self.manufacturer = manufacturer
            self.alternateSettings = alternateSettings
        }

        /// The alternate setting that btusb takes for mSBC: 6 if there is one, with Realtek 3, else 1 (Linux,
        /// `btusb_work`); nil: not USB, or not known.
        package var alternateSettingOfMSBC: Int? {
            guard !alternateSettings.isEmpty else { return nil }
            if alternateSettings.contains(6) { return 6 }
            let isRealtek = modalias?.lowercased().hasPrefix("usb:v0bda") == true
            return isRealtek && alternateSettings.contains(3) ? 3 : 1
        }
    }

    package init(
        address: BluetoothAddress, name: String? = nil, modalias: String? = nil, controller: Controller = Controller(),
        kernel: String? = nil
    ) {
        self.address = address
        self.name = name
        self.modalias = modalias
        self.controller = controller
        self.kernel = kernel
    }
}
