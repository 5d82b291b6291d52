import BluetoothSockets
import BluetoothTypes
import Configuration

/// Checks whether the controller can carry voice, and whether the voice reaches the host.
let controllerChecks = [
    DoctorCheck(
        "controller-classic", .fault, finds: "the controller has Low Energy only: headsets that make calls need BR/EDR",
        remedy:
            "use a controller with BR/EDR (dual mode); ControllerMode = le in /etc/bluetooth/main.conf switches it off",
        command: "grep ControllerMode /etc/bluetooth/main.conf"
    ) { system in
        system.eachController { controller in
            guard !controller.hasClassicBluetooth else { return nil }
            return DoctorEvidence("\(controller.name) has no BR/EDR", seen: controller.featuresText)
        }
    },
    DoctorCheck(
        "controller-voice-packets", .fault, finds: "the controller accepts no voice packets from the host",
        remedy: "its driver or firmware lacks voice: look for a newer one, or use another controller",
        command: "hciconfig -a"
    ) { system in
        system.eachController { controller in
            guard controller.isUp, controller.voicePacketBytes == 0 || controller.voicePackets == 0 else { return nil }
            return DoctorEvidence(
                "\(controller.name) has no buffers for voice packets",
                seen: "SCO MTU \(controller.voicePacketBytes):\(controller.voicePackets) (HCIGETDEVINFO)")
        }
    },
    DoctorCheck(
        "controller-wide-band", .warning,
        finds: "the controller cannot carry mSBC (transparent voice): calls are CVSD, 8 kHz",
        remedy: "nothing, if that is good enough; else use another controller",
        command: "btcall config bluetooth.codecs cvsd"
    ) { system in
        system.eachController { controller in
            guard controller.hasFeatures, !controller.hasTransparentVoice else { return nil }
            return DoctorEvidence("\(controller.name) cannot carry mSBC", seen: controller.featuresText)
        }
    },
    DoctorCheck(
        "controller-esco", .warning,
        finds: "the controller has no eSCO: lost packets are not repeated, and some headsets refuse the link",
        remedy: "use another controller; copies of CSR controllers often lack it"
    ) { system in
        system.eachController { controller in
            guard controller.hasFeatures, !controller.hasExtendedLinks else { return nil }
            return DoctorEvidence("\(controller.name) has no eSCO (EV3 packets)", seen: controller.featuresText)
        }
    },
    DoctorCheck(
        "voice-not-to-host", .fault,
        finds: "voice goes out and none has ever come in: the controller sends it to its PCM pins",
        remedy: "have the controller send voice to the host",
        command: "btcall config bluetooth.scoRouting host"
    ) { system in
        let setting = system.configuration?.scoRouting ?? .leave
        return system.eachController { controller in
            // At least one second of calls.
            guard controller.voicePacketsSent >= 130, controller.voicePacketsReceived == 0 else { return nil }
            let isBroadcom = controller.isMadeByBroadcom
            return DoctorEvidence(
                "\(controller.name) has sent voice and never received any",
                seen: "\(controller.voicePacketsSent) packets out, 0 in, since it was switched on (HCIGETDEVINFO)",
                remedy: isBroadcom && setting == .leave
                    ? nil
                    : SilentLinkAdvice.text(
                        controller: controller.name, maker: controller.manufacturer, isHeard: false, setting: setting,
                        isRouted: false),
                command: isBroadcom && setting == .leave ? nil : "dmesg | grep \(controller.name)")
        }
    },
    DoctorCheck(
        "voice-routing", .warning,
        finds: "a controller of Broadcom or Cypress on a serial port, which may send voice to its PCM pins",
        remedy: "if headsets are silent on both sides, have the controller send voice to the host",
        command: "btcall config bluetooth.scoRouting host"
    ) { system in
        guard (system.configuration?.scoRouting ?? .leave) == .leave else { return .ok }
        return system.eachController { controller in
            guard controller.bus == .uart, controller.isMadeByBroadcom, controller.voicePacketsReceived == 0 else {
                return nil
            }
            return DoctorEvidence(
                "\(controller.name) is often wired so that voice does not come to the host",
                seen:
                    "made by company \(controller.manufacturer ?? 0), on a serial port; no packet of voice came in yet;"
                    + " bluetooth.scoRouting is leave")
        }
    },
    DoctorCheck(
        "usb-voice-settings", .fault, finds: "the USB adapter has no alternate setting that carries voice",
        remedy: "use another adapter, and no hub without isochronous transfers", command: "lsusb -v"
    ) { system in
        system.eachUSBAdapter { name, path in
            guard let bytes = system.bytes("\(path)/../descriptors"), !bytes.isEmpty else { return nil }
            guard USBDescriptors.voiceSettings(bytes).isEmpty else { return nil }
            return DoctorEvidence(
                "\(name) has no isochronous end points", seen: "descriptors of its USB device (\(path)/../descriptors)")
        }
    },
    DoctorCheck(
        "usb-mode", .note,
        finds: "the USB adapter has no alternate setting 6, the one meant for mSBC: the kernel uses 1 or 3",
        remedy: "nothing, while mSBC sounds well; if it crackles or is silent, offer CVSD alone",
        command: "btcall config bluetooth.codecs cvsd"
    ) { system in
        system.eachUSBAdapter { name, path in
            let settings = USBDescriptors.voiceSettings(system.bytes("\(path)/../descriptors") ?? [])
            guard !settings.isEmpty, !settings.contains(6) else { return nil }
            let list = settings.sorted().map { String($0) }.joined(separator: ", ")
            return DoctorEvidence(
                "\(name) has no alternate setting for mSBC", seen: "alternate settings with voice: \(list)")
        }
    },
    DoctorCheck(
        "usb-autosuspend", .warning, finds: "the kernel may switch the USB adapter off while it is idle",
        remedy: "keep it on: options btusb enable_autosuspend=0 in /etc/modprobe.d, or a udev rule",
        command: "echo on > /sys/bus/usb/devices/DEVICE/power/control"
    ) { system in
        system.eachUSBAdapter { name, path in
            let control = "\(path)/../power/control"
            guard system.text(control) == "auto" else { return nil }
            let parameter = "/sys/module/btusb/parameters/enable_autosuspend"
            let value = system.text(parameter).map { ", \(parameter) is \($0)" } ?? ""
            return DoctorEvidence(
                "\(name) may be suspended by the kernel", seen: "\(control) is auto\(value)",
                command: "echo on > \(control)")
        }
    },
]

extension ControllerDetails {
    /// Includes Cypress, which continued the product line.
    fileprivate var isMadeByBroadcom: Bool { manufacturer == 15 || manufacturer == 305 }

    fileprivate var featuresText: String {
        let digits = features.map { hexadecimal(UInt64($0), digits: 2) }.joined(separator: " ")
        return "features \(digits) (HCIGETDEVINFO)"
    }
}

extension DoctorSystem {
    /// Runs a check on each controller that the kernel describes.
    fileprivate func eachController(_ body: (ControllerDetails) -> DoctorEvidence?) -> DoctorCheck.Outcome {
        guard !controllers.isEmpty else { return .skipped("the kernel describes no controller") }
        return DoctorCheck.Outcome(controllers.compactMap(body))
    }

    /// The names, and the USB interfaces in sysfs, of the USB adapters.
    var usbAdapters: [(name: String, path: String)] {
        controllerNames.map { ($0, "/sys/class/bluetooth/\($0)/device") }.filter { exists("\($0.1)/bInterfaceNumber") }
    }

    fileprivate func eachUSBAdapter(_ body: (String, String) -> DoctorEvidence?) -> DoctorCheck.Outcome {
        guard !usbAdapters.isEmpty else { return .skipped("no adapter is on USB") }
        return DoctorCheck.Outcome(usbAdapters.compactMap(body))
    }
}
