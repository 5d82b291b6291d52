import BTCallAPI
import BTCallDaemon
import BluetoothSockets
import BluetoothTypes
import CommandTestSupport
import DBus
import Foundation
import Glibc

@testable import BTCallCommand

/// A faultless machine below a temporary directory; a test breaks something and runs the checks.
final class DoctorFixture {
    let root: URL
    var user = DoctorSystem.User(id: 1000, groups: [1000, 998])
    var bus = DoctorBus()
    var controllers = [DoctorFixture.controller]
    var frequencies = ["wlan0": 5180]
    var space = DoctorSystem.Space(freeBytes: 1 << 30, isReadOnly: false)
    var bluetoothd = "5.82"
    var bluetoothSocketError: Int32 = 0
    /// Version of the package bluez.
    var bluez = "5.82-1.1"

    /// The list of known faults that ships.
    static let knownFaults = URL(filePath: #filePath).appending(path: "../../../../etc/stack.conf").standardized

    static let headset = "00:00:5E:00:53:01"
    static let adapterPath = "/org/bluez/hci0"
    static let headsetPath = "/org/bluez/hci0/dev_00_00_5E_00_53_01"
    static let bridgeHeadsetPath = "/org/btcall/headsets/00_00_5E_00_53_01"
    static let daemon = 700
    static let usb = "/sys/devices/usb1/1-1"

    init() throws {
        root = FileManager.default.temporaryDirectory.appending(path: "btcall-doctor-\(UUID().uuidString)")
        for (path, text) in Self.files { try write(path, text) }
        try write("/usr/share/btcall/stack.conf", String(contentsOf: Self.knownFaults, encoding: .utf8))
        try link("/sys/class/bluetooth/hci0", "../../devices/usb1/1-1/1-1:1.0/bluetooth/hci0")
        try link("\(Self.usb)/1-1:1.0/bluetooth/hci0/device", "../../../1-1:1.0")
        try link("/sys/class/net/wlan0/device/driver", "../../../../bus/pci/drivers/iwlwifi")
        try writeDescriptors([1, 2, 6])
        try FileManager.default.createDirectory(
            at: root.appending(path: "var/lib/btcall"), withIntermediateDirectories: true)
        try setMode("/var/lib/btcall", 0o777)
        bus.peers = [
            .init(name: "org.bluez", process: 500), .init(name: ":1.5", process: 500),
            .init(name: "org.btcall", process: Self.daemon), .init(name: ":1.7", process: Self.daemon),
            .init(name: ":1.9", process: 900),
        ]
        bus.activatable = ["org.btcall", "org.bluez"]
        bus.bluez = .objects(Self.bluez)
        bus.btcall = .objects(Self.btcall)
    }

    deinit {
        // Leftovers are in the temporary directory.
        try? FileManager.default.removeItem(at: root)
    }

    var system: DoctorSystem {
        let (space, version, installed) = (space, bluetoothd, bluez)
        var system = DoctorSystem(
            root: root.path(), user: user, bus: bus, controllers: controllers, frequencies: frequencies,
            space: { _ in space },
            output: { program, _ in
                switch program {
                case "/usr/libexec/bluetooth/bluetoothd": version + "\n"
                case "/usr/bin/dpkg-query": installed
                default: nil
                }
            })
        system.bluetoothSocketError = bluetoothSocketError
        system.ownID = 1
        return system
    }

    // MARK: Changing it

    /// Makes the machine a container that lacks nothing.
    func makeContainer() throws {
        try write("/usr/share/btcall/container", "")
        try link("/proc/self/ns/pid", "pid:[4026532300]")
        try write("/proc/self/uid_map", "         0          0 4294967295\n")
        try write(
            "/proc/self/mountinfo",
            "29 20 0:9 / /var/lib/btcall rw - ext4 t rw\n30 20 0:9 / /run/btcall rw - tmpfs t rw\n")
        try write("/proc/1/status", "Name:\tbtcall\nCapBnd:\t0000000000000000\n")
        try write("/proc/1/limits", "Max locked memory   unlimited unlimited bytes\nMax realtime priority   20  20\n")
        try write("/run/dbus/system_bus_socket", "")
        try write("/dev/snd/controlC0", "")
        user.groups.insert(getegid())
    }

    func write(_ path: String, _ text: String) throws {
        let file = root.appending(path: String(path.dropFirst()))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: false, encoding: .utf8)
    }

    func append(_ path: String, _ text: String) throws {
        let file = root.appending(path: String(path.dropFirst()))
        try write(path, try String(contentsOf: file, encoding: .utf8) + text)
    }

    func link(_ path: String, _ target: String) throws {
        let file = root.appending(path: String(path.dropFirst())).path()
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        _ = unlink(file)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: target)
    }

    func remove(_ path: String) throws {
        try FileManager.default.removeItem(at: root.appending(path: String(path.dropFirst())))
    }

    func setMode(_ path: String, _ mode: mode_t) throws {
        guard chmod(root.path() + path, mode) == 0 else { throw POSIXError(.EPERM) }
    }

    /// Interface descriptors of a Bluetooth adapter whose alternate settings with these numbers carry voice.
    func writeDescriptors(_ settings: [UInt8]) throws {
        var bytes: [UInt8] = [9, 4, 0, 0, 1, 0xE0, 1, 1, 0, 7, 5, 0x81, 3, 16, 0, 1]
        for setting in settings {
            bytes += [9, 4, 1, setting, 1, 0xE0, 1, 1, 0, 7, 5, 0x83, 1, 9, 0, 1]
        }
        try Data(bytes).write(to: root.appending(path: "sys/devices/usb1/1-1/descriptors"))
    }

    func set(_ property: String, _ value: Value?, of interface: String, at path: String) {
        var objects = bus.bluez.objects
        objects[path, default: [:]][interface, default: [:]][property] = value
        bus.bluez = .objects(objects)
    }

    func setAdapter(_ property: String, _ value: Value) {
        set(property, value, of: "org.bluez.Adapter1", at: Self.adapterPath)
    }

    func setHeadset(_ property: String, _ value: Value?) {
        set(property, value, of: "org.bluez.Device1", at: Self.headsetPath)
    }

    func setManager(_ change: (inout ManagerDescription) -> Void) {
        var manager = Self.manager
        change(&manager)
        var objects = bus.btcall.objects
        objects["/org/btcall"] = [BTCallName.Interface.manager: manager.properties]
        bus.btcall = .objects(objects)
    }

    /// Starts btcall-video, with a camera, an output and all plugins; a test breaks something.
    func startVideo(_ change: (inout [String: Value]) -> Void = { _ in }) throws {
        for name in ["app", "pango", "video4linux2", "jpeg", "kms", "opencv"] {
            try write("/usr/lib/x86_64-linux-gnu/gstreamer-1.0/libgst\(name).so", "")
        }
        try write("/dev/video-btcall", "")
        var properties: [String: Value] = [
            "Cameras": .array("a{sv}", [.vardict(["id": "usb-1-video-index0"])]), "Problem": "", "Background": "off",
            "Views": .vardict([
                "local": .vardict(ViewDescription(ViewRequest(.none)).fields),
                "remote": .vardict(ViewDescription(ViewRequest(.kms), isRunning: true).fields),
            ]),
            "OutputDevice": .vardict(OutputDescription(path: "/dev/video-btcall", isRunning: true).fields),
        ]
        change(&properties)
        bus.peers.append(.init(name: BTCallName.videoBus, process: 910))
        bus.video = .objects([BTCallPath.video: [BTCallName.Interface.video: properties]])
    }

    /// Removes btcalld.
    func stopDaemon() {
        bus.btcall = .absent
        bus.peers.removeAll { $0.process == Self.daemon }
    }

    /// Adds a process on the bus.
    func start(_ name: String, _ process: Int, owning busName: String = ":1.30") throws {
        try write("/proc/\(process)/comm", name + "\n")
        try write("/proc/\(process)/status", "Name:\t\(name)\nTgid:\t\(process)\nUid:\t0\t0\t0\t0\n")
        bus.peers.append(.init(name: busName, process: process))
    }

    // MARK: Content

    static let manager = ManagerDescription(version: Daemon.version, state: .active)

    static let controller = ControllerDetails(
        name: "hci0", address: BluetoothAddress(value: 0x00_1B_DC_07_00_01), isUp: true, bus: .usb,
        features: [0xFF, 0xFF, 0x8F, 0xFE, 0xDB, 0xFF, 0x5B, 0x87], voicePacketBytes: 64, voicePackets: 8,
        voicePacketsSent: 1000, voicePacketsReceived: 1000, manufacturer: 2)

    private static let bluez: DoctorBus.Objects = [
        adapterPath: [
            "org.bluez.Adapter1": [
                "Address": "00:1B:DC:07:00:01", "Alias": "hall", "Powered": true, "Discoverable": false,
                "DiscoverableTimeout": .uint32(180), "Class": .uint32(0x6C_0104),
                "UUIDs": .strings([DoctorSystem.BlueZObject.handsFreeGateway]),
            ]
        ],
        headsetPath: [
            "org.bluez.Device1": [
                "Address": .string(headset), "Alias": "Jane's headset", "AddressType": "public", "Paired": true,
                "Bonded": true, "Trusted": true, "Blocked": false, "Connected": true, "ServicesResolved": true,
                "Class": .uint32(0x24_0404), "UUIDs": .strings([DoctorSystem.BlueZObject.handsFree]),
            ]
        ],
    ]

    private static let btcall: DoctorBus.Objects = [
        "/org/btcall": [BTCallName.Interface.manager: manager.properties],
        BTCallPath.router: [BTCallName.Interface.router: RouterState().properties],
        bridgeHeadsetPath: [
            BTCallName.Interface.headset: HeadsetDescription(
                address: BluetoothAddress(value: 0x00_00_5E_00_53_01), name: "Jane's headset", codecs: ["mSBC", "CVSD"]
            ).properties
        ],
    ]

    private static let files = [
        "/proc/sys/kernel/osrelease": "6.12.30-amd64\n",
        "/proc/sys/kernel/sched_rt_runtime_us": "950000\n",
        "/proc/sys/kernel/sched_rt_period_us": "1000000\n",
        "/proc/\(daemon)/comm": "btcalld\n",
        "/proc/\(daemon)/cmdline": "/usr/bin/btcalld\0--config\0/etc/btcall/btcalld.conf\0",
        "/proc/\(daemon)/status":
            "Name:\tbtcalld\nTgid:\t\(daemon)\nUid:\t998\t998\t998\t998\nGid:\t998\t998\t998\nGroups:\t29 112 998 \n"
            + "CapEff:\t0000000000000000\n",
        "/proc/\(daemon)/limits": """
        Limit                     Soft Limit           Hard Limit           Units
        Max locked memory         unlimited            unlimited            bytes
        Max realtime priority     20                   20

        """,
        "/proc/500/comm": "bluetoothd\n",
        "/proc/500/status": "Name:\tbluetoothd\nTgid:\t500\nUid:\t0\t0\t0\t0\n",
        "/proc/900/comm": "systemd-logind\n",
        "/proc/900/status": "Name:\tsystemd-logind\nTgid:\t900\nUid:\t0\t0\t0\t0\n",
        "/proc/net/wireless": """
        Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE
         face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22
         wlan0: 0000   60.  -50.  -256        0      0      0      0      0        0

        """,
        "/proc/asound/cards": """
         0 [Device         ]: USB-Audio - USB Audio Device
                              C-Media USB Audio Device at usb-1
         1 [PCH            ]: HDA-Intel - HDA Intel PCH
                              HDA Intel PCH at 0x1

        """,
        "/proc/asound/card0/pcm0p/info": "", "/proc/asound/card0/pcm0p/sub0/status": "closed\n",
        "/proc/asound/card0/pcm0c/info": "",
        "/proc/asound/card0/pcm0c/sub0/status": "state: RUNNING\nowner_pid   : \(daemon)\n",
        "/proc/asound/card1/pcm0p/info": "", "/proc/asound/card1/pcm0p/sub0/status": "closed\n",
        "/proc/asound/card1/pcm0c/info": "", "/proc/asound/card1/pcm0c/sub0/status": "closed\n",
        "/proc/asound/card0/stream0": usbStream(rates: "44100, 48000"),
        "/etc/group": "root:x:0:\naudio:x:29:btcall\nbluetooth:x:112:\nbtcall:x:998:jane\n",
        "/etc/os-release": "PRETTY_NAME=\"Debian GNU/Linux 13\"\nID=debian\n",
        "/etc/btcall/btcalld.conf": """
        [device speakerphone]
        playback = hw:CARD=Device,DEV=0
        capture = hw:0,0
        [device earpiece]
        playback = plughw:PCH
        capture = plughw:1,0

        """,
        "/usr/share/dbus-1/system.d/org.btcall.conf": "<busconfig><allow own=\"org.btcall\"/></busconfig>",
        "/usr/libexec/bluetooth/bluetoothd": "",
        "/usr/lib/x86_64-linux-gnu/alsa-lib/libasound_module_pcm_btcall.so": "",
        "/etc/alsa/conf.d/60-btcall.conf": "",
        "/sys/class/rfkill/rfkill0/type": "bluetooth\n", "/sys/class/rfkill/rfkill0/name": "hci0\n",
        "/sys/class/rfkill/rfkill0/soft": "0\n", "/sys/class/rfkill/rfkill0/hard": "0\n",
        "\(usb)/power/control": "on\n", "\(usb)/1-1:1.0/bInterfaceNumber": "00\n",
        "/sys/module/btusb/parameters/enable_autosuspend": "Y\n",
        "/var/lib/bluetooth/00:1B:DC:07:00:01/\(headset)/info": "[General]\nName=x\n\n[LinkKey]\nKey=00\n",
    ]

    /// A USB sound card in the kernel's format.
    static func usbStream(format: String = "S16_LE", channels: Int = 2, rates: String) -> String {
        ["Playback", "Capture"].map { direction in
            """
            \(direction):
              Status: Stop
              Interface 1
                Altset 1
                Format: \(format)
                Channels: \(channels)
                Endpoint: 0x01 (1 OUT) (ADAPTIVE)
                Rates: \(rates)

            """
        }.joined()
    }
}
