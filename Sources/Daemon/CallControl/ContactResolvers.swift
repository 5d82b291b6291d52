package import BTCallAPI
import BluetoothTypes
package import ControlLoop
package import DBus
package import Logging

/// Programs that know the names of callers (`org.btcall.ContactResolver1`): all are asked at once, and the first name
/// counts.
///
/// An incoming call waits for the name, so that a headset can announce it, but never longer than the budget. A program that
/// was late or failed is still asked, but no call waits for it until it has answered in time again; a late name is shown
/// when it arrives.
@ControlPlane
package final class ContactResolvers {
    /// The most resolvers at a time.
    private static let maximumResolvers = 8
    /// The most objects of one program, so that it does not keep all others out.
    private static let maximumPerProgram = 2

    /// A number that is being looked up.
    private final class Question {
        let number: String
        let caller: CallerDescription
        /// Programs whose answers the call waits for.
        var awaited: [AskedProgram] = []
        var answer: (@ControlPlane (ContactDescription?) -> Void)?
        var isNamed = false

        init(_ number: String, _ caller: CallerDescription) {
            self.number = number
            self.caller = caller
        }
    }

    /// Called with a contact that no call waits for.
    package var onContact: (@ControlPlane (_ number: String, _ contact: ContactDescription) -> Void)?
    private let bus: BusConnection
    private let budget: Duration
    private let timeout: Duration
    private let logger: Logger
    private var resolvers: [AskedProgram] = []

    /// - Parameters:
    ///   - budget: the longest that an incoming call waits.
    ///   - timeout: how long an answer is still accepted.
    package init(bus: BusConnection, budget: Duration, timeout: Duration, logger: Logger) {
        self.bus = bus
        self.budget = budget
        self.timeout = timeout
        self.logger = logger
    }

    /// Registers a program's object; a second registration of the same path changes nothing. It ends when the program leaves
    /// the bus.
    package func register(busName: String, path: String) throws(APIError) {
        guard index(busName, path) == nil else { return }
        guard resolvers.count(where: { $0.busName == busName }) < Self.maximumPerProgram else {
            throw APIError(
                .wrongState,
                "you have registered \(Self.maximumPerProgram) contact resolvers, the most for one program: "
                    + "unregister one first")
        }
        guard resolvers.count < Self.maximumResolvers else {
            throw APIError(
                .wrongState, "\(Self.maximumResolvers) contact resolvers are registered, the most there can be")
        }
        let resolver = AskedProgram(busName, path)
        resolver.watch = bus.watchName(busName) { [weak self] owner in
            if owner == nil { self?.remove(busName) }
        }
        resolvers.append(resolver)
        logger.notice("\(busName) resolves contacts at \(path)")
    }

    package func unregister(busName: String, path: String) throws(APIError) {
        guard let index = index(busName, path) else {
            throw APIError(.invalidArgument, "you have registered no contact resolver at \(path)")
        }
        resolvers.remove(at: index).watch?.cancel()
    }

    /// The caller's contact with a name, if a resolver answers within the budget; returns at once when none can.
    package func contact(of number: String, _ caller: CallerDescription) async -> ContactDescription? {
        let question = Question(number, caller)
        return await withCheckedContinuation { continuation in
            question.answer = { continuation.resume(returning: $0) }
            ask(question)
            guard question.answer != nil else { return }
            guard !question.awaited.isEmpty else { return finish(question, nil) }
            ControlLoop.shared.schedule(after: budget) { [weak self] in self?.expire(question) }
        }
    }

    /// Looks up a number without waiting: `onContact` delivers the contact.
    ///
    /// When the application gave a name, only programs with `ResolveCaller` are asked: the others could only repeat a name.
    package func ask(_ number: String, _ caller: CallerDescription) { ask(Question(number, caller)) }

    private func ask(_ question: Question) {
        let hasName = !question.caller.name.isEmpty
        for resolver in resolvers where resolver.questions < AskedProgram.maximumQuestions {
            if hasName, resolver.missing.contains(BTCallName.ContactResolver.resolveCaller) { continue }
            resolver.questions += 1
            if resolver.isPrompt { question.awaited.append(resolver) }
            let start = ControlLoop.now
            Task { @ControlPlane in
                let contact = await call(resolver, question)
                resolver.questions -= 1
                // After a delay in btcalld itself, an answer may be handled before the budget's timer.
                let isWaitedFor = question.answer != nil || start.duration(to: ControlLoop.now) <= budget
                let isInTime = contact != nil && isWaitedFor
                // No call waits for more than a name, so its answer does not count.
                if !hasName { note(resolver, isPrompt: isInTime) }
                question.awaited.removeAll { $0 === resolver }
                received(contact, for: question)
            }
        }
    }

    /// - Returns: nil without an answer or with an invalid one; a contact without a name when the resolver knows none.
    private func call(_ resolver: AskedProgram, _ question: Question) async -> ContactDescription? {
        typealias Name = BTCallName.ContactResolver
        let number = Value.string(question.number)
        let methods = [
            (Name.resolveCaller, [number, .vardict(question.caller.fields)]), (Name.resolveContact, [number]),
        ]
        for (member, arguments) in methods where !resolver.missing.contains(member) {
            if member == Name.resolveContact, !question.caller.name.isEmpty { return nil }
            switch await ask(resolver, member, arguments) {
            case .success(let value):
                guard let value, let fields = value.vardictValue else { return nil }
                // An invalid contact counts as no answer.
                return try? ContactDescription(Fields(fields, of: member))
            case .failure(let error):
                guard error.hasName(BusError.Name.unknownMethod) else { return nil }
                resolver.missing.insert(member)
            }
        }
        guard question.caller.name.isEmpty, case .success(let value?) = await ask(resolver, Name.resolve, [number]),
            let name = value.stringValue, name.utf8.count <= ContactDescription.longestText
        else { return nil }
        return ContactDescription(name: name)
    }

    private func ask(
        _ resolver: AskedProgram, _ member: String, _ arguments: [Value]
    ) async -> Result<Value?, BusError> {
        do throws(BusError) {
            let reply = try await bus.call(
                resolver.busName, resolver.path, BTCallName.Interface.contactResolver, member, arguments,
                timeout: timeout)
            return .success(reply.first)
        } catch {
            logger.debug("\(resolver.busName) does not resolve a contact: \(error.message)")
            return .failure(error)
        }
    }

    private func expire(_ question: Question) {
        guard question.answer != nil else { return }
        for resolver in question.awaited { note(resolver, isPrompt: false) }
        finish(question, nil)
    }

    private func received(_ contact: ContactDescription?, for question: Question) {
        if let contact, !contact.name.isEmpty, !question.isNamed {
            question.isNamed = true
            guard question.answer == nil else { return finish(question, contact) }
            onContact?(question.number, contact)
        } else if question.awaited.isEmpty {
            finish(question, nil)
        }
    }

    private func finish(_ question: Question, _ contact: ContactDescription?) {
        guard let answer = question.answer else { return }
        question.answer = nil
        answer(contact)
    }

    private func note(_ resolver: AskedProgram, isPrompt: Bool) {
        guard isPrompt != resolver.isPrompt else { return }
        resolver.isPrompt = isPrompt
        logger.notice(
            isPrompt
                ? "\(resolver.busName) answers in time again: calls wait for its names"
                : "\(resolver.busName) has no name within \(budget): calls no longer wait for it")
    }

    private func remove(_ busName: String) {
        for resolver in resolvers where resolver.busName == busName { resolver.watch?.cancel() }
        resolvers.removeAll { $0.busName == busName }
    }

    private func index(_ busName: String, _ path: String) -> Int? {
        resolvers.firstIndex { $0.busName == busName && $0.path == path }
    }
}
