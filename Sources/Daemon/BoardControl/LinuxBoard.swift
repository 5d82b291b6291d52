import ALSA
package import BoardInput
package import Configuration
package import ControlLoop
package import Logging

/// The board through the kernel: control elements and mixers of sound cards, input devices, GPIO lines.
@ControlPlane
package final class LinuxBoard: BoardOpening {
    package var onChange: (@ControlPlane (BoardArea) -> Void)?
    private let catalogue: InputCatalogue
    private let devices: String
    private let settling: Duration
    private let logger: Logger
    private var watches: [BoardArea: DirectoryWatch] = [:]

    /// - Parameters:
    ///   - devices: directory of the device nodes.
    ///   - settling: quiet time required after devices have come or gone, in which udev sets their permissions.
    package init(
        devices: String = "/dev", catalogue: InputCatalogue = InputCatalogue(), settling: Duration = .milliseconds(150),
        logger: Logger
    ) {
        self.devices = devices
        self.catalogue = catalogue
        self.settling = settling
        self.logger = logger
    }

    // MARK: Arrival and removal

    package func watch(_ area: BoardArea) -> Bool {
        guard watches[area] == nil else { return true }
        let (path, prefixes) = place(of: area)
        do throws(SystemError) {
            watches[area] = try DirectoryWatch(
                path, settling: settling, isWanted: { name in prefixes.contains { name.hasPrefix($0) } },
                onChange: { [weak self] in self?.onChange?(area) })
            return true
        } catch {
            logger.warning("\(path) is not watched: \(error); see fs.inotify.max_user_instances and max_user_watches")
            return false
        }
    }

    private func place(of area: BoardArea) -> (path: String, prefixes: [String]) {
        switch area {
        case .cards: (devices + "/snd", ["control", "pcm"])
        case .inputs: (devices + "/input", ["event"])
        case .lines: (devices, ["gpiochip"])
        }
    }

    package func stop() {
        for watch in watches.values { watch.cancel() }
        watches = [:]
    }

    // MARK: Jacks

    package func findJack(ofPCM pcm: String) -> [JackPart] {
        var index: Int?
        if let name = Card.control(ofPCM: pcm), let control = try? CardControl(card: name) {
            // A card that cannot be opened has no watchable jack; its device reports what is wrong.
            let names = control.elements().filter(\.isBoolean).map(\.name)
            index = control.index
            control.close()
            if let output = Self.usual(names, Self.isOutput) {
                var parts = [JackPart.control(card: name, name: output, isMicrophone: false)]
                if let microphone = Self.usual(names, Self.isMicrophone) {
                    parts.append(.control(card: name, name: microphone, isMicrophone: true))
                }
                return parts
            }
        }
        let node = catalogue.all().first { node in
            // A jack of another card does not belong to this headset.
            node.codes.contains(.headphoneInserted) && (node.card == nil || node.card == index)
        }
        return node.map { [.input($0.path)] } ?? []
    }

    /// The shortest name is the plainest: "Headphone Jack" before "Front Headphone Jack".
    private static func usual(_ names: [String], _ isMeant: (String) -> Bool) -> String? {
        names.filter { $0.hasSuffix(" Jack") && !$0.mentions("Phantom") && isMeant($0) }
            .min { ($0.count, $0) < ($1.count, $1) }
    }

    private static func isOutput(_ name: String) -> Bool {
        (name.mentions("Headphone") || name.mentions("Headset")) && !name.mentions("Mic")
    }

    private static func isMicrophone(_ name: String) -> Bool {
        name.mentions("Headset Mic") || name.mentions("Headphone Mic") || name == "Mic Jack" || name == "Front Mic Jack"
    }

    package func openJack(_ part: JackPart, pcm: String) throws(BoardError) -> BoardContact<JackReading> {
        switch part {
        case .control(let card, let name, let isMicrophone):
            try openControl(name, isMicrophone, card: card, pcm: pcm)
        case .input(let device): try openJackInput(device)
        }
    }

    private func openControl(
        _ name: String, _ isMicrophone: Bool, card: String?, pcm: String
    ) throws(BoardError) -> BoardContact<JackReading> {
        guard let card = card ?? Card.control(ofPCM: pcm) else {
            throw BoardError(
                what: "\(pcm) has no sound card now",
                remedy: "name the card, jack = hw:CARD/\(name), if the PCM is not a card's own", isCardMissing: true)
        }
        do throws(ALSAError) {
            let control = try CardControl(card: card)
            try control.watch()
            let watch = ControlWatch(control, name)
            guard let isOn = watch.isOn else {
                control.close()
                throw .lacks(device: card, what: "control element \(name)", others: watch.others)
            }
            func reading(_ isOn: Bool) -> JackReading {
                isMicrophone ? JackReading(hasMicrophone: isOn) : JackReading(isPlugged: isOn)
            }
            let contact = BoardContact(
                reading(isOn), reread: { control.onChange?() }, release: { control.close() })
            control.onChange = { [weak contact] in
                if let isOn = watch.isOn { contact?.report(reading(isOn)) } else { contact?.vanish() }
            }
            control.onGone = { [weak contact] in contact?.vanish() }
            return contact
        } catch {
            throw Self.error(error)
        }
    }

    private func openJackInput(_ device: String) throws(BoardError) -> BoardContact<JackReading> {
        do throws(BoardInputError) {
            let node = try catalogue.find(device)
            let codes = node.codes.intersection([.headphoneInserted, .microphoneInserted])
            guard !codes.isEmpty else {
                throw .lacks(
                    device: node.name, what: "SW_HEADPHONE_INSERT or SW_MICROPHONE_INSERT",
                    others: node.codes.map(\.description).sorted())
            }
            let input = try InputDevice(path: node.path, codes: codes)
            func reading() -> JackReading {
                JackReading(
                    isPlugged: input.states[.headphoneInserted], hasMicrophone: input.states[.microphoneInserted])
            }
            let contact = BoardContact(reading(), reread: { input.refresh() }, release: { input.close() })
            input.onChange = { [weak contact] in contact?.report(reading()) }
            input.onGone = { [weak contact] in contact?.vanish() }
            return contact
        } catch {
            throw BoardError(what: error.what, remedy: error.remedy)
        }
    }

    // MARK: Hooks

    package func openHook(_ hook: HookSpecification) throws(BoardError) -> BoardContact<Bool> {
        do throws(BoardInputError) {
            switch hook.source {
            case .input(let device, let code): return try openHookInput(device, code, hook.isInverted)
            case .line(let chip, let number, let bias):
                let line = try GPIOLine(
                    chip: chip, line: number, isInverted: hook.isInverted, bias: bias, nodes: devices)
                let contact = BoardContact(line.isActive, reread: { line.refresh() }, release: { line.close() })
                line.onChange = { [weak contact] in contact?.report(line.isActive) }
                line.onGone = { [weak contact] in contact?.vanish() }
                return contact
            }
        } catch {
            throw BoardError(what: error.what, remedy: error.remedy)
        }
    }

    private func openHookInput(
        _ device: String, _ code: InputCode, _ isInverted: Bool
    ) throws(BoardInputError) -> BoardContact<Bool> {
        let node = try catalogue.find(device)
        guard node.codes.contains(code) else {
            throw .lacks(device: node.name, what: "\(code)", others: node.codes.map(\.description).sorted())
        }
        let input = try InputDevice(path: node.path, codes: [code])
        func isLifted() -> Bool { (input.states[code] ?? false) != isInverted }
        let contact = BoardContact(isLifted(), reread: { input.refresh() }, release: { input.close() })
        input.onChange = { [weak contact] in contact?.report(isLifted()) }
        input.onGone = { [weak contact] in contact?.vanish() }
        return contact
    }

    // MARK: Mixers

    package func openMixer(_ name: String, pcm: String) throws(BoardError) -> any MixerControl {
        guard let card = Card.control(ofPCM: pcm) else {
            throw BoardError(what: "\(pcm) has no sound card now", remedy: "see `aplay -l`", isCardMissing: true)
        }
        do throws(ALSAError) {
            let mixer = try MixerElement(card: card, element: name)
            try mixer.watch()
            return mixer
        } catch {
            throw Self.error(error)
        }
    }

    private static func error(_ error: ALSAError) -> BoardError {
        switch error {
        case .missing(let device, let advice):
            BoardError(what: "there is no \(device)", remedy: advice, isCardMissing: true)
        case .busy(let device, let advice): BoardError(what: "\(device) is in use", remedy: advice)
        case .lacks(let device, let what, let others):
            BoardError(
                what: "\(device) has no \(what)",
                remedy: others.isEmpty ? "it has none" : "it has " + others.joined(separator: ", "))
        case .unsupported, .failed: BoardError(what: "\(error)", remedy: "see `amixer` and `dmesg`")
        }
    }
}

/// Boolean elements of one name on one card; looked up again when a driver has recreated them.
@ControlPlane
private final class ControlWatch {
    private let control: CardControl
    private let name: String
    private var elements: [CardControl.Element] = []

    init(_ control: CardControl, _ name: String) {
        self.control = control
        self.name = name
    }

    /// Whether one of them is on; nil without elements.
    var isOn: Bool? {
        if let known = read() { return known }
        elements = control.elements().filter { $0.name == name && $0.isBoolean }
        return read()
    }

    private func read() -> Bool? {
        let values = elements.compactMap { control.isOn($0) }
        return values.isEmpty || values.count < elements.count ? nil : values.contains(true)
    }

    /// Alternatives on the card: its jacks, otherwise all Boolean elements.
    var others: [String] {
        let all = control.elements().filter(\.isBoolean).map(\.name)
        let jacks = all.filter { $0.hasSuffix("Jack") }
        var names: [String] = []
        for name in jacks.isEmpty ? all : jacks where !names.contains(name) { names.append(name) }
        return Array(names.prefix(12))
    }
}
