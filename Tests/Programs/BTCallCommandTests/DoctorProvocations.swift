import BTCallAPI
import BluetoothSockets
import DBus
import Glibc

@testable import BTCallCommand

/// One fault of a machine, and the check that must detect it.
struct DoctorProvocation: Sendable, CustomStringConvertible {
    let check: String
    let severity: DoctorSeverity
    /// Part of the finding's text.
    let says: String
    let provoke: @Sendable (DoctorFixture) throws -> Void

    var description: String { "\(check): \(says)" }

    init(
        _ check: String, _ severity: DoctorSeverity, _ says: String,
        _ provoke: @escaping @Sendable (DoctorFixture) throws -> Void
    ) {
        self.check = check
        self.severity = severity
        self.says = says
        self.provoke = provoke
    }

    private static let accessDenied = BusError.accessDenied("rejected by the policy")

    static let all = [adapter, controller, bluetoothd, daemon, container, system, sound, headset, video].flatMap { $0 }

    private static let container: [DoctorProvocation] = [
        .init("container", .fault, "has a network namespace of its own") {
            try $0.makeContainer()
            $0.bluetoothSocketError = EAFNOSUPPORT
        },
        .init("container", .fault, "filter of system calls forbids Bluetooth sockets") {
            try $0.makeContainer()
            $0.bluetoothSocketError = EPERM
        },
        .init("container", .fault, "the machine's message bus is not in the container") {
            try $0.makeContainer()
            try $0.remove("/run/dbus")
        },
        .init("container", .fault, "nobody has org.btcall on the machine's bus") {
            try $0.makeContainer()
            $0.stopDaemon()
        },
        .init("container", .fault, "has user numbers of its own") {
            try $0.makeContainer()
            try $0.write("/proc/self/uid_map", "         0     100000      65536\n")
        },
        .init("container", .fault, "the sound cards are not in the container") {
            try $0.makeContainer()
            try $0.remove("/dev/snd")
        },
        .init("container", .warning, "the kernel's list of sound cards is hidden") {
            try $0.makeContainer()
            try $0.remove("/proc/asound/cards")
        },
        .init("container", .fault, "the container's user may not open the sound cards") {
            try $0.makeContainer()
            $0.user.groups = [12_345]
        },
        .init("container", .warning, "real-time priority is not permitted") {
            try $0.makeContainer()
            try $0.write(
                "/proc/1/limits", "Max locked memory   unlimited unlimited bytes\nMax realtime priority   0  0\n")
        },
        .init("container", .warning, "memory cannot be locked") {
            try $0.makeContainer()
            try $0.write("/proc/1/limits", "Max locked memory   65536 65536 bytes\nMax realtime priority   20  20\n")
        },
        .init("container", .warning, "settings and call log end with the container") {
            try $0.makeContainer()
            try $0.write("/proc/self/mountinfo", "30 20 0:9 / /run/btcall rw - tmpfs t rw\n")
        },
        .init("container", .note, "programs outside of the container cannot use the ALSA PCM") {
            try $0.makeContainer()
            try $0.write("/proc/self/mountinfo", "30 20 0:9 / /var/lib/btcall rw - ext4 t rw\n")
        },
        .init("container", .note, "may have capabilities") {
            try $0.makeContainer()
            try $0.write("/proc/1/status", "Name:\tbtcall\nCapBnd:\t00000000a80425fb\n")
        },
    ]

    private static let adapter: [DoctorProvocation] = [
        .init("adapter-missing", .fault, "there is no Bluetooth adapter") { try $0.remove("/sys/class/bluetooth") },
        .init("adapter-missing", .fault, "bluetoothd does not use the controller hci1") {
            try $0.write("/sys/class/bluetooth/hci1/type", "")
        },
        .init("adapter-blocked", .fault, "hci0 is blocked by software") {
            try $0.write("/sys/class/rfkill/rfkill0/soft", "1\n")
        },
        .init("adapter-blocked", .fault, "hci0 is blocked by a switch") {
            try $0.write("/sys/class/rfkill/rfkill0/hard", "1\n")
        },
        .init("adapter-off", .fault, "the adapter hci0 is off") { $0.setAdapter("Powered", false) },
        .init("adapter-off", .note, "the adapter hci1 is off") {
            $0.set("Powered", false, of: "org.bluez.Adapter1", at: "/org/bluez/hci1")
        },
        .init("adapters-several", .note, "there are 2 Bluetooth adapters: hci0, hci1") {
            $0.set("Powered", true, of: "org.bluez.Adapter1", at: "/org/bluez/hci1")
        },
        .init("adapter-discoverable", .warning, "as long as it is on") {
            $0.setAdapter("Discoverable", true)
            $0.setAdapter("DiscoverableTimeout", .uint32(0))
        },
        .init("adapter-class", .note, "has no class of device") { $0.setAdapter("Class", .uint32(0)) },
    ]

    private static let controller: [DoctorProvocation] = [
        .init("controller-classic", .fault, "hci0 has no BR/EDR") { $0.controllers[0].features[4] |= 0x20 },
        .init("controller-voice-packets", .fault, "no buffers for voice packets") {
            $0.controllers[0].voicePackets = 0
        },
        .init("controller-wide-band", .warning, "cannot carry mSBC") { $0.controllers[0].features[2] &= 0xF7 },
        .init("controller-esco", .warning, "has no eSCO") { $0.controllers[0].features[3] &= 0x7F },
        .init("voice-not-to-host", .fault, "has sent voice and never received any") {
            $0.controllers[0].voicePacketsReceived = 0
        },
        .init("voice-routing", .warning, "often wired so that voice does not come to the host") {
            $0.controllers[0].bus = .uart
            $0.controllers[0].manufacturer = 305
            $0.controllers[0].voicePacketsReceived = 0
            $0.controllers[0].voicePacketsSent = 0
        },
        .init("usb-voice-settings", .fault, "no isochronous end points") { try $0.writeDescriptors([]) },
        .init("usb-mode", .note, "no alternate setting for mSBC") { try $0.writeDescriptors([1, 2]) },
        .init("usb-autosuspend", .warning, "hci0 may be suspended") {
            try $0.write("\(DoctorFixture.usb)/power/control", "auto\n")
        },
    ]

    private static let bluetoothd: [DoctorProvocation] = [
        .init("bluetoothd-missing", .fault, "bluetoothd does not run") { $0.bus.bluez = .absent },
        .init("bluetoothd-missing", .fault, "bluetoothd does not answer") {
            $0.bus.bluez = .refused(DoctorProvocation.accessDenied)
        },
        .init("stack", .warning, "bluetoothd 5.67 crashes") { $0.bluetoothd = "5.67" },
        .init("stack", .note, "bluetoothd 5.84 cannot connect some earbuds") { $0.bluetoothd = "5.84" },
        .init("stack", .warning, "the list of known faults has a mistake") {
            try $0.write("/etc/btcall/stack.conf", "[stack]\nformat = 1\n[fault mine]\nprogram = bluetoothd\n")
        },
        .init("profile-owner", .fault, "wireplumber (process 901) has the Hands-Free Profile") {
            $0.stopDaemon()
            try $0.start("wireplumber", 901)
        },
        .init("profile-owner", .fault, "bluealsa (process 902) has the Hands-Free Profile") {
            $0.setManager { $0.problems = [.init(id: "profile", what: "taken", remedy: "")] }
            try $0.start("bluealsa", 902, owning: "org.bluealsa")
        },
        .init("profile-owner", .fault, "a program that is not btcalld has the Hands-Free Profile") { $0.stopDaemon() },
        .init("profile-owner", .warning, "ofonod (process 903) has the Headset Profile") {
            $0.setAdapter("UUIDs", .strings([DoctorSystem.BlueZObject.headsetGateway]))
            try $0.start("ofonod", 903)
        },
        .init("modem-manager", .warning, "hci0 is on the serial port /dev/ttyS1") {
            try $0.link("/sys/class/bluetooth/hci0", "../../devices/serial8250/tty/ttyS1/hci0")
            try $0.start("ModemManager", 904, owning: "org.freedesktop.ModemManager1")
        },
        .init("modem-manager", .fault, "ModemManager (process 904) has /dev/ttyS1 open") {
            try $0.link("/sys/class/bluetooth/hci0", "../../devices/serial8250/tty/ttyS1/hci0")
            try $0.start("ModemManager", 904, owning: "org.freedesktop.ModemManager1")
            try $0.link("/proc/904/fd/7", "/dev/ttyS1")
        },
        .init("stack", .warning, "Linux 6.8.12-generic may connect a headset with only one") {
            try $0.write("/proc/sys/kernel/osrelease", "6.8.12-generic\n")
        },
        .init("stack", .warning, "Linux 5.10.0-9-amd64 may send mSBC nowhere") {
            try $0.write("/proc/sys/kernel/osrelease", "5.10.0-9-amd64\n")
            try $0.writeDescriptors([1, 2])
        },
        .init("stack", .warning, "Linux 6.1.0-30-amd64 (5.10.70) may send mSBC nowhere") {
            try $0.write("/proc/sys/kernel/osrelease", "6.1.0-30-amd64\n")
            try $0.write("/proc/version", "Linux version 6.1.0-30-amd64 (x@y) #1 SMP Debian 5.10.70-1 (2021-09-30)\n")
            try $0.writeDescriptors([1, 2])
        },
        .init("stack", .warning, "hci_chan_del") {
            try $0.write("/proc/sys/kernel/osrelease", "6.1.0-56-amd64\n")
        },
        .init("realtime-throttling", .warning, "10 per cent of the time") {
            try $0.write("/proc/sys/kernel/sched_rt_runtime_us", "100000\n")
        },
        .init("realtime-throttling", .fault, "0 per cent of the time") {
            try $0.write("/proc/sys/kernel/sched_rt_runtime_us", "0\n")
        },
    ]

    private static let daemon: [DoctorProvocation] = [
        .init("bus-unreachable", .fault, "the bus (system) cannot be reached") { fixture in
            fixture.bus = DoctorBus()
            fixture.bus.failure = "no such file"
        },
        .init("btcalld-missing", .fault, "btcalld does not run") { $0.stopDaemon() },
        .init("btcalld-access", .fault, "btcalld cannot be reached") {
            $0.bus.btcall = .refused(DoctorProvocation.accessDenied)
        },
        .init("btcalld-activation", .warning, "does not know how to start btcalld") {
            $0.stopDaemon()
            $0.bus.activatable = []
        },
        .init("btcalld-version", .warning, "btcalld is version 0.0.1") { $0.setManager { $0.version = "0.0.1" } },
        .init("btcalld-problems", .warning, "preferences are not kept") {
            $0.setManager { $0.problems = [.init(id: "state", what: "preferences are not kept", remedy: "do")] }
        },
        .init("btcalld-problems", .fault, "nobody hears it") {
            $0.setManager {
                $0.problems = [.init(id: "noDevice", what: "no device carries the call: nobody hears it", remedy: "do")]
            }
        },
        .init("dbus-policy", .fault, "the bus has no policy for org.btcall") {
            try $0.remove("/usr/share/dbus-1/system.d/org.btcall.conf")
        },
        .init("dbus-policy", .fault, "lets nobody own org.btcall") {
            try $0.write("/etc/dbus-1/system.d/org.btcall.conf", "<busconfig/>")
        },
        .init("configuration", .fault, "has a mistake") {
            try $0.append("/etc/btcall/btcalld.conf", "[routing]\nnonsense = 1\n")
        },
        .init("state-directory", .fault, "may not write") { try $0.setMode("/var/lib/btcall", 0o755) },
        .init("state-directory", .fault, "is full") { $0.space.freeBytes = 4096 },
        .init("state-directory", .fault, "read-only") { $0.space.isReadOnly = true },
        .init("state-directory", .warning, "does not exist") { try $0.remove("/var/lib/btcall") },
    ]

    private static let system: [DoctorProvocation] = [
        .init("realtime-limit", .warning, "may not have real-time priority") {
            try $0.write("/proc/\(DoctorFixture.daemon)/limits", "Max realtime priority     0                    0\n")
        },
        .init("memory-lock", .warning, "less than 64 MiB") {
            try $0.write(
                "/proc/\(DoctorFixture.daemon)/limits",
                "Max locked memory         8388608              8388608   bytes\n")
        },
        .init("daemon-groups", .fault, "is not in the group audio") {
            try $0.write("/etc/group", "audio:x:30:\nbtcall:x:998:\n")
        },
        .init("user-group", .note, "you are not in the group btcall") { $0.user.groups = [1000] },
        .init("user-group", .warning, "there is no group btcall") { try $0.write("/etc/group", "audio:x:29:\n") },
        .init("wifi-coexistence", .warning, "on the chip that Bluetooth is on") { $0.frequencies["wlan0"] = 2437 },
        .init("wifi-coexistence", .note, "wlan0 uses 2.4 GHz") {
            $0.frequencies["wlan0"] = 2412
            $0.controllers[0].manufacturer = 10
        },
    ]

    private static let sound: [DoctorProvocation] = [
        .init("sound-device-missing", .fault, "names a sound card that does not exist: hw:CARD=Device,DEV=0") {
            try $0.write("/proc/asound/cards", " 1 [PCH            ]: HDA-Intel - HDA Intel PCH\n")
        },
        .init("sound-device-missing", .fault, "the card PCH has no such PCM: plughw:1,0") {
            try $0.remove("/proc/asound/card1/pcm0c")
        },
        .init("sound-device-busy", .fault, "pulseaudio (process 905) has the playback of [device speakerphone] open") {
            try $0.start("pulseaudio", 905)
            try $0.write("/proc/906/comm", "alsa-sink\n")
            try $0.write("/proc/906/status", "Name:\talsa-sink\nTgid:\t905\n")
            try $0.write("/proc/asound/card0/pcm0p/sub0/status", "state: RUNNING\nowner_pid   : 906\n")
        },
        .init("sound-device-format", .warning, "can be used only with plug: in front") {
            try $0.write("/proc/asound/card0/stream0", DoctorFixture.usbStream(rates: "96000, 192000"))
        },
        .init("sound-device-format", .warning, "can be used only with plug: in front") {
            try $0.write("/proc/asound/card0/stream0", DoctorFixture.usbStream(channels: 8, rates: "48000"))
        },
        .init("sound-devices-none", .note, "no [device …] is configured") {
            try $0.write("/etc/btcall/btcalld.conf", "")
        },
        .init("sound-devices-none", .fault, "no call can be heard") {
            try $0.write("/etc/btcall/btcalld.conf", "")
            $0.setHeadset("Paired", false)
        },
        .init("pcm-plugin", .note, "programs cannot open the PCM") {
            try $0.remove("/etc/alsa/conf.d/60-btcall.conf")
            try $0.remove("/usr/lib/x86_64-linux-gnu/alsa-lib")
        },
        .init("pcm-plugin", .warning, "alsa-lib does not know") { try $0.remove("/etc/alsa/conf.d/60-btcall.conf") },
        .init("pcm-plugin", .warning, "a PCM btcall that does not exist") {
            try $0.remove("/usr/lib/x86_64-linux-gnu/alsa-lib")
        },
    ]

    private static let headset: [DoctorProvocation] = [
        .init("headsets-none", .note, "no headset is paired") { $0.setHeadset("Paired", false) },
        .init("preference-replaced", .note, "set to bluetooth, then to earpiece, and there is no fallback") { fixture in
            var objects = fixture.bus.btcall.objects
            objects[BTCallPath.router] = [
                BTCallName.Interface.router:
                    RouterState(preferred: .earpiece, replacedPreference: .bluetooth).properties
            ]
            fixture.bus.btcall = .objects(objects)
        },
        .init("headset-untrusted", .warning, "is paired and not trusted") { $0.setHeadset("Trusted", false) },
        .init("headset-blocked", .warning, "is blocked") { $0.setHeadset("Blocked", true) },
        .init("headset-bond", .warning, "without a bond") { $0.setHeadset("Bonded", false) },
        .init("headset-bond", .warning, "has no key") {
            try $0.write(
                "/var/lib/bluetooth/00:1B:DC:07:00:01/\(DoctorFixture.headset)/info", "[General]\nName=x\n")
        },
        .init("headset-low-energy", .warning, "Low Energy side only") {
            $0.setHeadset("UUIDs", .strings(["0000184e-0000-1000-8000-00805f9b34fb"]))
        },
        .init("headset-low-energy", .warning, "Low Energy side only") {
            $0.setHeadset("UUIDs", .strings([]))
            $0.setHeadset("AddressType", "random")
        },
        .init("headset-unresolved", .warning, "connected without its services") {
            $0.setHeadset("UUIDs", .strings([]))
            $0.setHeadset("ServicesResolved", false)
        },
        .init("headset-half-connected", .warning, "without the profile for calls") { fixture in
            var objects = fixture.bus.btcall.objects
            objects[DoctorFixture.bridgeHeadsetPath] = nil
            fixture.bus.btcall = .objects(objects)
        },
        .init("headset-music", .note, "wireplumber (process 906) cannot play to it") { fixture in
            try fixture.start("wireplumber", 906)
            var objects = fixture.bus.btcall.objects
            objects[DoctorFixture.bridgeHeadsetPath]?[BTCallName.Interface.headset]?["MediaState"] = "idle"
            fixture.bus.btcall = .objects(objects)
        },
        .init("headset-talk-delay", .note, "waits for the voice link of the headset") { fixture in
            var objects = fixture.bus.btcall.objects
            objects[DoctorFixture.bridgeHeadsetPath]?[BTCallName.Interface.headset]?["TalkDelay"] = .int32(420)
            fixture.bus.btcall = .objects(objects)
        },
    ]
}
