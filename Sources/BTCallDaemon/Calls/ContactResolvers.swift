package import BTCallAPI
import BluetoothTypes
package import ControlLoop
package import DBus
package import Logging

/// Programs that know the names of callers (`org.btcall.ContactResolver1`): all are asked at once, the first name counts.
///
/// An incoming call waits for the name, so that a headset announces it, but never longer than the budget. A program that was late or
/// failed is still asked, and not waited for until it has answered in time again; a name that comes late is shown when it comes.
@ControlPlane
package final class ContactResolvers {
    /// Programs at a time, and questions that one of them has not answered yet.
    private static let maximumResolvers = 8
    private static let maximumQuestions = 16
    /// In bytes: longer names are nobody's.
    private static let longestName = 256

    private final class Resolver {
        let busName: String
        let path: String
        var isPrompt = true
        var questions = 0
        var watch: Subscription?

        init(_ busName: String, _ path: String) {
            self.busName = busName
            self.path = path
        }
    }

    /// A number that is looked up.
    private final class Question {
        let number: String
        /// Programs that are waited for.
        var awaited: [Resolver] = []
        var answer: (@ControlPlane (String?) -> Void)?
        var isNamed = false

        init(_ number: String) { self.number = number }
    }

    /// A name that nobody waits for any more.
    package var onName: (@ControlPlane (_ number: String, _ name: String) -> Void)?
    private let bus: BusConnection
    private let budget: Duration
    private let patience: Duration
    private let logger: Logger
    private var resolvers: [Resolver] = []

    /// - Parameters:
    ///   - budget: how long an incoming call waits at most.
    ///   - patience: how long an answer is of use.
    package init(bus: BusConnection, budget: Duration, patience: Duration, logger: Logger) {
        self.bus = bus
        self.budget = budget
        self.patience = patience
        self.logger = logger
    }

    /// A program at a path of its own; once more it changes nothing. It ends with its connection to the bus.
    package func register(busName: String, path: String) throws(APIError) {
        guard index(busName, path) == nil else { return }
        guard resolvers.count < Self.maximumResolvers else {
            throw APIError(
                .wrongState, "\(Self.maximumResolvers) contact resolvers are registered, the most there can be")
        }
        let resolver = Resolver(busName, path)
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

    /// The name of a caller, when one is known within the budget; at once when nobody could know it.
    package func name(of number: String) async -> String? {
        let question = Question(number)
        return await withCheckedContinuation { continuation in
            question.answer = { continuation.resume(returning: $0) }
            ask(question)
            guard question.answer != nil else { return }
            guard !question.awaited.isEmpty else { return finish(question, nil) }
            ControlLoop.shared.schedule(after: budget) { [weak self] in self?.expire(question) }
        }
    }

    /// Looks up a number that nobody waits for: the name comes by `onName`.
    package func ask(_ number: String) { ask(Question(number)) }

    private func ask(_ question: Question) {
        for resolver in resolvers where resolver.questions < Self.maximumQuestions {
            resolver.questions += 1
            if resolver.isPrompt { question.awaited.append(resolver) }
            let start = ControlLoop.now
            Task { @ControlPlane in
                let name = await call(resolver, question.number)
                resolver.questions -= 1
                let isInTime = name != nil && start.duration(to: ControlLoop.now) <= budget
                note(resolver, isPrompt: isInTime)
                question.awaited.removeAll { $0 === resolver }
                take(name?.nonEmpty, for: question)
            }
        }
    }

    /// - Returns: nil when it did not answer, or something else than a name; empty when it knows none.
    private func call(_ resolver: Resolver, _ number: String) async -> String? {
        do throws(BusError) {
            let reply = try await bus.call(
                resolver.busName, resolver.path, BTCallName.Interface.contactResolver,
                BTCallName.ContactResolver.resolve, [.string(number)], timeout: patience)
            guard let name = reply.first?.stringValue, name.utf8.count <= Self.longestName else { return nil }
            return name
        } catch {
            logger.debug("\(resolver.busName) does not resolve a contact: \(error.message)")
            return nil
        }
    }

    private func expire(_ question: Question) {
        guard question.answer != nil else { return }
        for resolver in question.awaited { note(resolver, isPrompt: false) }
        finish(question, nil)
    }

    private func take(_ name: String?, for question: Question) {
        if let name, !question.isNamed {
            question.isNamed = true
            guard question.answer == nil else { return finish(question, name) }
            onName?(question.number, name)
        } else if question.awaited.isEmpty {
            finish(question, nil)
        }
    }

    private func finish(_ question: Question, _ name: String?) {
        guard let answer = question.answer else { return }
        question.answer = nil
        answer(name)
    }

    private func note(_ resolver: Resolver, isPrompt: Bool) {
        guard isPrompt != resolver.isPrompt else { return }
        resolver.isPrompt = isPrompt
        logger.notice(
            isPrompt
                ? "\(resolver.busName) answers in time again: calls wait for its names"
                : "\(resolver.busName) has no name within \(budget): calls do not wait for it any more")
    }

    private func remove(_ busName: String) {
        for resolver in resolvers where resolver.busName == busName { resolver.watch?.cancel() }
        resolvers.removeAll { $0.busName == busName }
    }

    private func index(_ busName: String, _ path: String) -> Int? {
        resolvers.firstIndex { $0.busName == busName && $0.path == path }
    }
}
