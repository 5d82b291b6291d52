package import BluetoothTypes

/// Known facts about a headset and the machine it is connected to; matched against rows.
package struct QuirkSubject: Hashable, Sendable {
    package var address: BluetoothAddress
    /// The headset's own name; nil if unknown.
    package var name: String?
    /// `org.bluez.Device1.Modalias`: `bluetooth:v004Cp2002d6DF1`, maker, product and version; nil if unknown.
    package var modalias: String?
    package var controller = Controller()
    /// From `uname -r`; nil if unknown.
    package var kernel: String?

    /// The Bluetooth controller.
    package struct Controller: Hashable, Sendable {
        /// Kernel's name: `hci0`; nil without a controller.
        package var name: String?
        /// Modalias of its bus device: `usb:v0A12p0001d8891…`; nil if unknown or missing.
        package var modalias: String?
        /// Kernel driver: `btusb`, `hci_uart_bcm`; nil if unknown.
        package var driver: String?
        /// `org.bluez.Adapter1.Manufacturer`: assigned number of its maker; nil with most versions of BlueZ.
        package var manufacturer: Int?
        /// Alternate settings of the USB voice interface; empty if not USB or unknown.
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

        /// Alternate setting that btusb uses for mSBC: 6 if available, 3 with Realtek, otherwise 1 (Linux, `btusb_work`);
        /// nil if not USB or unknown.
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
