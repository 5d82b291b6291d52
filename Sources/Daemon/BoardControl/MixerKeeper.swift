import ALSA
package import ControlLoop
package import Diagnostics
package import Logging
package import Routing

/// Sets the volume control of one local device while the device carries the call, and reports when another program changes
/// it. Of a device that stands by the control is set once: its sound begins before anybody here knows of it.
@ControlPlane
package final class MixerKeeper {
    package let device: LocalDevice
    private let name: String
    private let volume: Int?
    private let pcm: String
    private let source: any BoardOpening
    private let problems: ProblemList
    private let logger: Logger
    /// Open while the device is active or stands by.
    private var control: (any MixerControl)?
    private var isActive = false
    private var isStandby = false
    /// The level before anything was set.
    private var found: MixerElement.Setting?
    /// The set value as it reads back: any other value was set by another program.
    private var expected: MixerElement.Setting?
    private var contest = ForeignChangeGuard()
    private var taken: MixerElement.Setting?
    private var problem: String { "mixer.\(device.rawValue)" }

    /// - Parameters:
    ///   - name: of the simple mixer control on the card of `pcm`.
    ///   - volume: 0…100 per cent; nil keeps the level that is found first.
    package init(
        device: LocalDevice, name: String, volume: Int?, pcm: String, source: any BoardOpening, problems: ProblemList,
        logger: Logger
    ) {
        self.device = device
        self.name = name
        self.volume = volume
        self.pcm = pcm
        self.source = source
        self.problems = problems
        self.logger = logger
    }

    /// Remark for `btcall why`; nil without one.
    package var note: String? {
        guard let control, let expected, let taken else { return nil }
        return
            "mixer control \(name) of \(device.rawValue): another program changed it \(ForeignChangeGuard.limit) times"
            + " in \(ForeignChangeGuard.window.components.seconds) s, left at \(control.percent(of: taken)) % (wanted"
            + " \(control.percent(of: expected)) %) until the route changes or Refresh"
    }

    /// Checks whether the control exists, and its level. Call it at the start and when cards have arrived.
    package func look() {
        if isActive || isStandby {
            if control == nil { open() }
            return
        }
        guard let control = openControl() else { return }
        learn(control)
        control.close()
    }

    /// The device carries the call from now on.
    package func activate() {
        guard !isActive else { return }
        isActive = true
        isStandby = false
        guard let control else { return open() }
        if control.setting != expected { set(control) }
    }

    package func deactivate() {
        guard isActive else { return }
        isActive = false
        letGo()
    }

    /// The device may carry the call at any moment. Until it does, other programs may change the control.
    package func standBy() {
        guard !isActive, !isStandby else { return }
        isStandby = true
        open()
    }

    /// The device no longer stands by; no effect on one that carries the call.
    package func standDown() {
        guard isStandby else { return }
        isStandby = false
        letGo()
    }

    /// Sets the control again, even after it was left to another program.
    package func refresh() {
        guard isActive else { return look() }
        guard let control else { return open() }
        end()
        set(control)
    }

    package func stop() {
        isActive = false
        isStandby = false
        control?.close()
        control = nil
    }

    // MARK: Steps

    private func openControl() -> (any MixerControl)? {
        do throws(BoardError) {
            let control = try source.openMixer(name, pcm: pcm)
            if taken == nil { problems.end(problem) }
            return control
        } catch {
            if error.isCardMissing {
                problems.end(problem)
            } else {
                problems.begin(
                    problem, what: "\(device.rawValue): the mixer is not set: \(error.what)", remedy: error.remedy)
            }
            return nil
        }
    }

    private func open() {
        guard let control = openControl() else { return }
        self.control = control
        control.onChange = { [weak self] in self?.compare() }
        control.onGone = { [weak self] in self?.lose() }
        learn(control)
        set(control)
    }

    private func learn(_ control: any MixerControl) {
        let now = control.setting
        // A different card under the same name starts over.
        if found?.volumes.count != now.volumes.count { found = now }
    }

    private func set(_ control: any MixerControl) {
        var wanted = found ?? control.setting
        if let volume { wanted = control.setting(percent: volume) }
        wanted.switches = wanted.switches.map { _ in true }
        do throws(ALSAError) {
            try control.apply(wanted)
            expected = control.setting
            if taken == nil { problems.end(problem) }
            logger.debug("\(device.rawValue): \(name) is set to \(control.percent(of: wanted)) %")
        } catch {
            expected = nil
            problems.begin(
                problem, what: "\(device.rawValue): the mixer is not set: \(error)",
                remedy: "see whether `amixer` can set \(name); another program may have locked it")
        }
    }

    private func compare() {
        guard isActive, let control, let expected else { return }
        let now = control.setting
        guard now != expected else {
            if taken != nil { taken = now }
            return
        }
        let change = "\(control.percent(of: expected)) % -> \(control.percent(of: now)) %"
        switch contest.changed(at: ControlLoop.now) {
        case .reassert:
            logger.notice("foreign-change: \(device.rawValue): \(name) \(change), set again")
            set(control)
        case .yield:
            taken = now
            logger.warning("foreign-change: \(device.rawValue): \(name) \(change), left to the other program")
            problems.begin(
                problem, what: "\(device.rawValue): another program keeps changing the mixer control \(name)",
                remedy: "stop it (`fuser -v /dev/snd/control*` shows who has the card), or take mixer out of"
                    + " [device \(device.rawValue)]; set again when the route changes, or by Router1.Refresh")
        case .ignore: taken = now
        }
    }

    private func lose() {
        control = nil
        end()
    }

    private func letGo() {
        control?.close()
        control = nil
        end()
    }

    /// Ends the contest for the control.
    private func end() {
        contest.reset()
        guard taken != nil else { return }
        taken = nil
        problems.end(problem)
    }
}
