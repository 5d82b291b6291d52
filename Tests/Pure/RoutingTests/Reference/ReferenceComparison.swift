import BTCallSimulator
import BluetoothTypes
import Routing

/// Runs courses through the policy and the reference, and shortens a course along which they differ.
struct ReferenceComparison {
    /// Alters the reference, to see that the comparison finds it.
    var mistake: ReferencePolicy.Mistake?

    /// The first difference, in words; nil when both agree as far as the rules decide.
    func difference(_ course: RandomCourse) -> String? {
        let scenario = course.scenario()
        var run = ReferenceRun(course.given, mistake: mistake)
        run.run(scenario)
        let end = run.policy.openQuestion?.time ?? Instant(nanoseconds: .max)
        return RoutingLog.difference(policy: PolicyRun.log(scenario), reference: run.log, before: end)
    }

    /// What to print of a course with a difference: the shortest course that still has one, as a scenario file.
    func report(_ course: RandomCourse) -> String? {
        guard let first = difference(course) else { return nil }
        let short = shrunk(course)
        return """
            seed \(course.seed): \(first)
            shortest: \(difference(short) ?? "")
            \(ScenarioText.file(short.scenario()))
            """
    }

    /// The course without the steps that lead into what the rules leave open; later steps stay at their times.
    static func decided(_ course: RandomCourse) -> RandomCourse {
        var result = course
        result.steps = []
        var run = ReferenceRun(course.given, isLogging: false)
        var time = Instant.zero
        var pause: Int64 = 0
        for step in course.steps {
            time = time.advanced(by: .milliseconds(step.pause))
            pause += step.pause
            run.advance(to: time)
            var next = run
            next.step(step.record, at: time)
            if next.policy.openQuestion != nil, run.policy.openQuestion == nil { continue }
            run = next
            result.steps.append(RandomCourse.Step(pause: pause, record: step.record))
            pause = 0
        }
        return result
    }

    // MARK: Shortening

    func shrunk(_ course: RandomCourse) -> RandomCourse {
        var short = course
        while true {
            let before = size(of: short)
            shortenSteps(&short)
            simplifyGiven(&short)
            if size(of: short) == before { return short }
        }
    }

    private func size(of course: RandomCourse) -> [Int] {
        let given = course.given
        return [
            course.steps.count, given.headsets.count, given.headsets.reduce(0) { $0 + $1.script.count },
            given.connected.count,
        ]
    }

    /// Leaves out ever smaller parts, halves first, as long as the difference stays.
    private func shortenSteps(_ course: inout RandomCourse) {
        var size = max(course.steps.count / 2, 1)
        while true {
            var start = 0
            while start < course.steps.count {
                let range = start..<min(start + size, course.steps.count)
                if !keep(without(range, of: course, keepsTimes: true), &course),
                    !keep(without(range, of: course, keepsTimes: false), &course)
                {
                    start += size
                }
            }
            if size == 1 { return }
            size /= 2
        }
    }

    /// - Parameter keepsTimes: whether later steps stay at their times, or follow sooner.
    private func without(_ range: Range<Int>, of course: RandomCourse, keepsTimes: Bool) -> RandomCourse {
        var shorter = course
        let pause = course.steps[range].reduce(0) { $0 + $1.pause }
        shorter.steps.removeSubrange(range)
        if keepsTimes, range.lowerBound < shorter.steps.count {
            let next = shorter.steps[range.lowerBound]
            shorter.steps[range.lowerBound] = RandomCourse.Step(pause: next.pause + pause, record: next.record)
        }
        return shorter
    }

    /// Replaces the course by a simpler one if that differs, too.
    private func keep(_ simpler: RandomCourse, _ course: inout RandomCourse) -> Bool {
        guard difference(simpler) != nil else { return false }
        course = simpler
        return true
    }

    private func simplifyGiven(_ course: inout RandomCourse) {
        for key in RoutingKey.allCases {
            let usual = RoutingConfiguration.defaultValue(of: key)
            guard course.given.configuration.value(of: key) != usual else { continue }
            var simpler = course
            do {
                try simpler.given.configuration.set(key: key.rawValue, value: usual)
            } catch {
                preconditionFailure("\(error)")
            }
            _ = keep(simpler, &course)
        }
        let changes: [(inout Scenario.Given) -> Void] = [
            { $0.preferred = AudioDevice.none }, { $0.defaultDevice = AudioDevice.none }, { $0.jack = .empty },
            { $0.started = true }, { $0.locals = Scenario.Given.usual.locals },
        ]
        for change in changes {
            var simpler = course
            change(&simpler.given)
            _ = keep(simpler, &course)
        }
        for model in course.given.headsets { simplify(model.address, &course) }
    }

    private func simplify(_ address: BluetoothAddress, _ course: inout RandomCourse) {
        var simpler = course
        simpler.given.headsets.removeAll { $0.address == address }
        simpler.given.connected.removeAll { $0 == address }
        if keep(simpler, &course) { return }
        simpler = course
        simpler.given.connected.removeAll { $0 == address }
        if simpler.given.connected.count < course.given.connected.count { _ = keep(simpler, &course) }
        let usual = Scenario.HeadsetModel.usual(address)
        let changes: [(inout Scenario.HeadsetModel) -> Void] = [
            { $0.script = [] }, { $0.script = Array($0.script.dropLast()) },
            { $0.script = Array($0.script.dropFirst()) },
            { $0.profiles = usual.profiles }, { $0.category = usual.category }, { $0.inband = usual.inband },
            { $0.openTime = usual.openTime }, { $0.closeTime = usual.closeTime },
        ]
        for change in changes {
            guard let index = course.given.headsets.firstIndex(where: { $0.address == address }) else { return }
            simpler = course
            change(&simpler.given.headsets[index])
            _ = keep(simpler, &course)
        }
    }
}

extension RandomCourse {
    /// How many steps of a course are compared: short courses differ more in kind.
    private static let comparedSteps = 60

    /// The course without what the rules leave open (docs/inside/Routing.md).
    var comparable: RandomCourse {
        var course = self
        // A longest time below the shortest one has no meaning.
        let configuration = given.configuration
        course.given.configuration.settleMax = max(configuration.settleMax, configuration.settleBluetooth)
        course.given.configuration.penaltyMax = max(configuration.penaltyMax, configuration.penaltyBase)
        // Which local device stands in for a system device that is none, or absent, is the policy's business.
        course.given.configuration.systemDevice = .speakerphone
        // A second plug of another kind without unplugging the first, and a jack beside a headset on USB: one of each.
        let (hasMicrophone, isUSB) = (seed % 2 == 0, seed % 4 == 1)
        // Whether a headset on USB is latched like a jack.
        if isUSB { course.given.configuration.jackGesture = .midCall }
        if given.jack != .empty { course.given.jack = isUSB ? .empty : hasMicrophone ? .headset : .headphones }
        course.steps = steps.prefix(Self.comparedSteps).compactMap { step in
            Self.comparable(step.record, hasMicrophone: hasMicrophone, isUSB: isUSB).map {
                Step(pause: step.pause, record: $0)
            }
        }
        return course
    }

    private static func comparable(_ record: EventRecord, hasMicrophone: Bool, isUSB: Bool) -> EventRecord? {
        switch record.word {
        // What the media of a call mean for its device is not among the rules.
        case "call.media", "call.local", "call.talk", "bt.rest": return nil
        case "call.outgoing", "call.incoming":
            return EventRecord(word: record.word, arguments: record.arguments.filter { $0.name != "audio" })
        case "api.config":
            let isComparable = record.arguments.allSatisfy { comparableKeys.contains($0.name) }
            return isComparable ? record : nil
        case "jack.plugged": return isUSB ? nil : RoutingEvent.jackPlugged(microphone: hasMicrophone).record
        case "jack.unplugged": return isUSB ? nil : record
        case "local.found": return !isUSB && record == RoutingEvent.localFound(.wiredHeadset).record ? nil : record
        default: return record
        }
    }

    /// A time that changes while it runs counts from then on, or not: what is under way is left open. A plug is what
    /// `jackGesture` said when it happened; what it becomes under another value is left open.
    private static let comparableKeys: Set<String> = Set(
        [
            RoutingKey.exclude, .headsetOrder, .newHeadset, .jackMasksEarpiece, .microphoneEnabled,
            .allowBluetoothA2DP, .inbandRing, .ringLocal, .manualAudio, .manualRendering, .releaseOnHold,
        ].map(\.rawValue))
}
