import ALSA
import BTCallDaemon
import BoardControl
import Configuration
import ControlLoop

/// A board whose jacks, hook and volume controls are under the test's control.
@ControlPlane
final class SimulatedBoard: BoardOpening {
    var onChange: (@ControlPlane (BoardArea) -> Void)?
    private(set) var watched: Set<BoardArea> = []
    /// The card's control elements with their states.
    private(set) var jacks: [JackPart: JackReading] = [:]
    /// The jacks detected when the configuration names none.
    var usualJack: [JackPart] = []
    /// Nil when the hook is missing.
    private(set) var isLifted: Bool?
    private(set) var volumes: [String: SimulatedVolume] = [:]
    /// Whether the sound card is in the machine.
    var hasCard = true

    private var jackContacts: [JackPart: BoardContact<JackReading>] = [:]
    private var hookContact: BoardContact<Bool>?

    static let headphone = JackPart.control(card: nil, name: "Headphone Jack", isMicrophone: false)
    static let microphone = JackPart.control(card: nil, name: "Headset Mic Jack", isMicrophone: true)

    // MARK: Actions of people and other programs

    func addJack() { jacks = [Self.headphone: .init(isPlugged: false), Self.microphone: .init(hasMicrophone: false)] }

    func plug(microphone: Bool = true) {
        report(Self.headphone, .init(isPlugged: true))
        report(Self.microphone, .init(hasMicrophone: microphone))
    }

    func unplug() {
        report(Self.headphone, .init(isPlugged: false))
        report(Self.microphone, .init(hasMicrophone: false))
    }

    /// Changes the hardware's state without an event, like a driver that sends none.
    func plugSilently() {
        jacks[Self.headphone] = .init(isPlugged: true)
        jacks[Self.microphone] = .init(hasMicrophone: true)
    }

    private func report(_ part: JackPart, _ reading: JackReading) {
        jacks[part] = reading
        jackContacts[part]?.report(reading)
    }

    /// Removes the elements with the card, and notifies their observers.
    func pullJack() {
        hasCard = false
        jacks = [:]
        for contact in jackContacts.values { contact.vanish() }
        onChange?(.cards)
    }

    func insertJack() {
        hasCard = true
        addJack()
        onChange?(.cards)
    }

    func addHook(isLifted: Bool = false) { self.isLifted = isLifted }

    func lift() {
        isLifted = true
        hookContact?.report(true)
    }

    func hangUp() {
        isLifted = false
        hookContact?.report(false)
    }

    func removeHook() {
        isLifted = nil
        hookContact?.vanish()
    }

    func addVolume(_ name: String, _ level: Int) { volumes[name] = SimulatedVolume(level) }

    // MARK: BoardOpening

    func watch(_ area: BoardArea) -> Bool {
        watched.insert(area)
        return true
    }

    func stop() { watched = [] }

    func findJack(ofPCM pcm: String) -> [JackPart] { usualJack.filter { jacks[$0] != nil } }

    func openJack(_ part: JackPart, pcm: String) throws(BoardError) -> BoardContact<JackReading> {
        guard hasCard else { throw BoardError(what: "there is no card", remedy: "plug it in", isCardMissing: true) }
        guard let reading = jacks[part] else {
            throw BoardError(what: "hw:0 has no control element \(part)", remedy: "it has Line Jack")
        }
        let contact = BoardContact(
            reading,
            reread: { [weak self] in
                if let self, let now = jacks[part] { jackContacts[part]?.report(now) }
            }, release: { [weak self] in self?.jackContacts[part] = nil })
        jackContacts[part] = contact
        return contact
    }

    func openHook(_ hook: HookSpecification) throws(BoardError) -> BoardContact<Bool> {
        guard let isLifted else {
            throw BoardError(what: "there is no input device cradle", remedy: "there is gpio-keys")
        }
        let contact = BoardContact(isLifted, reread: {}, release: { [weak self] in self?.hookContact = nil })
        hookContact = contact
        return contact
    }

    func openMixer(_ name: String, pcm: String) throws(BoardError) -> any MixerControl {
        guard hasCard else { throw BoardError(what: "there is no card", remedy: "plug it in", isCardMissing: true) }
        guard let volume = volumes[name] else {
            throw BoardError(what: "hw:0 has no mixer control \(name)", remedy: "it has Master, Speaker")
        }
        return volume.open()
    }
}

/// A volume control of 0…50 steps with a switch, which notifies all observers of every change, including the one who made
/// it.
@ControlPlane
final class SimulatedVolume {
    private(set) var setting: MixerElement.Setting
    /// How many openings are not closed.
    private(set) var opened = 0
    private(set) var writes = 0
    private var control: Control?

    init(_ level: Int) { setting = .init(volumes: [level, level], switches: [true, true]) }

    /// Changes the level as another program would.
    func change(_ level: Int, isOn: Bool = true) {
        setting = .init(volumes: [level, level], switches: [isOn, isOn])
        control?.onChange?()
    }

    /// Changes the level as another program would, without a notification.
    func changeSilently(_ level: Int) { setting.volumes = [level, level] }

    fileprivate func open() -> any MixerControl {
        opened += 1
        let control = Control(self)
        self.control = control
        return control
    }

    private final class Control: MixerControl {
        var onChange: (@ControlPlane () -> Void)?
        var onGone: (@ControlPlane () -> Void)?
        private let volume: SimulatedVolume
        private var isOpen = true

        init(_ volume: SimulatedVolume) { self.volume = volume }

        var setting: MixerElement.Setting { volume.setting }
        func setting(percent: Int) -> MixerElement.Setting {
            .init(volumes: [percent / 2, percent / 2], switches: [true, true])
        }
        func percent(of setting: MixerElement.Setting) -> Int {
            setting.switches.contains(true) ? (setting.volumes.first ?? 0) * 2 : 0
        }
        func apply(_ setting: MixerElement.Setting) throws(ALSAError) {
            volume.writes += 1
            volume.setting = setting
            ControlLoop.shared.perform { [weak self] in self?.onChange?() }
        }
        func close() {
            guard isOpen else { return }
            isOpen = false
            onChange = nil
            volume.opened -= 1
        }
    }
}
