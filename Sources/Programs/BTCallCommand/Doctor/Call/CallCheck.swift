/// One possible fault of the doctor's test call.
struct CallCheck: Equatable, Sendable {
    /// Kebab-case and permanent: scripts use it.
    let id: String
    let severity: DoctorSeverity
    /// Description of the fault, for the page of all checks.
    let finds: String
    let remedy: String
    let command: String?

    private init(_ id: String, _ severity: DoctorSeverity, finds: String, remedy: String, command: String? = nil) {
        self.id = id
        self.severity = severity
        self.finds = finds
        self.remedy = remedy
        self.command = command
    }

    func finding(
        _ what: String, seen: String, severity: DoctorSeverity? = nil, remedy: String? = nil, command: String? = nil
    ) -> DoctorFinding {
        DoctorFinding(
            check: id, severity: severity ?? self.severity, what: what, seen: seen, remedy: remedy ?? self.remedy,
            command: command ?? self.command)
    }

    static let daemon = CallCheck(
        "call-daemon", .fault, finds: "btcalld does not run",
        remedy: "start it, and find out why it ended", command: "systemctl start btcalld; journalctl -u btcalld -n 20")
    static let busy = CallCheck(
        "call-busy", .fault, finds: "another call is up: none was made beside it",
        remedy: "try again when it has ended", command: "btcall calls")
    static let refused = CallCheck(
        "call-refused", .fault, finds: "btcalld refused or dropped the call",
        remedy: "see what else btcalld and the machine lack", command: "btcall status; btcall doctor")
    static let device = CallCheck(
        "call-device", .fault, finds: "the device did not carry the call, or not to its end",
        remedy: "see why it is not used", command: "btcall why; btcall devices")
    static let link = CallCheck(
        "call-link", .fault, finds: "the voice link to the headset did not open",
        remedy: "switch the headset off and on, and disconnect it from other telephones; see why its link was refused",
        command: "btcall doctor; journalctl -u btcalld -n 50")
    static let received = CallCheck(
        "call-received", .fault, finds: "the link is open, but no audio arrives",
        remedy: "the controller may send voice to its PCM pins: make it send voice to the host",
        command: "btcall config bluetooth.scoRouting host")
    static let microphone = CallCheck(
        "call-microphone", .fault, finds: "audio arrives, but the microphone is digitally silent or muted",
        remedy: "look for a switch on the device, and for the capture control of a sound card",
        command: "btcall mic; amixer")
    static let losses = CallCheck(
        "call-losses", .warning, finds: "more than 1 % of the packets were lost",
        remedy: "bring the headset nearer, and keep the antenna away from Wi-Fi on 2.4 GHz and from USB 3",
        command: "btcall call show; btcall doctor wifi-coexistence usb-autosuspend")
    static let chirp = CallCheck(
        "call-chirp", .note, finds: "nobody heard the chirps: normal for a headset that is worn",
        remedy: "nothing, if the person heard them; else lay the loudspeaker on the microphone, and turn it up")

    /// In the order in which they occur in a call.
    static let all = [daemon, busy, refused, device, link, received, microphone, losses, chirp]
}
