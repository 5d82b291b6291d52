import BTCallAPI
import CallControl
import ControlLoop
import DBus

// Members for providers, placing and joining calls, contact resolvers and the call log.
extension CallsObject {
    // MARK: Providers

    func registerProvider(_ call: MethodCall) throws(APIError) {
        let options = try ProviderOptions(call.fields(1, .registerProvider))
        try calls.register(busName: call.sender, path: call.path(0, "provider"), options: options)
    }

    func unregisterProvider(_ call: MethodCall) throws(APIError) {
        try calls.unregister(busName: call.sender, path: call.path(0, "provider"))
    }

    func reportIncoming(_ call: MethodCall) async throws(APIError) -> [Value] {
        let given = try ReportOptions(call.fields(2, .reportIncoming))
        let path = try call.path(0, "provider")
        let number = try call.text(1, "number", .name)
        let options = await calls.named(given, number, busName: call.sender, path: path)
        let record = try calls.reportIncoming(busName: call.sender, path: path, number: number, options: options)
        return [.objectPath(record.path)]
    }

    func reportOutgoing(_ call: MethodCall) throws(APIError) -> [Value] {
        let options = try ReportOptions(call.fields(2, .reportOutgoing))
        let record = try calls.reportOutgoing(
            busName: call.sender, path: call.path(0, "provider"), number: call.text(1, "number", .name),
            options: options)
        return [.objectPath(record.path)]
    }

    // MARK: Requests

    func place(_ call: MethodCall) async throws(APIError) -> [Value] {
        let options = try call.fields(1, .place)
        let provider = try options.optionalString("provider", .provider)
        let media = try MediaOptions(options)
        let number = try call.text(0, "number", .name)
        return [.objectPath(try await calls.place(number, provider: provider, media).path)]
    }

    func swap(_: MethodCall) async throws(APIError) { try await calls.swap() }

    func conference(_: MethodCall) async throws(APIError) { try await calls.conference() }

    func removeAll(_: MethodCall) async throws(APIError) { try await calls.removeAll() }

    // MARK: Names and the log

    func registerContactResolver(_ call: MethodCall) throws(APIError) {
        try calls.contacts.register(busName: call.sender, path: call.path(0, "resolver"))
    }

    func unregisterContactResolver(_ call: MethodCall) throws(APIError) {
        try calls.contacts.unregister(busName: call.sender, path: call.path(0, "resolver"))
    }

    func listLog(_ call: MethodCall) async -> [Value] {
        let isReader = await bus.isReader(call.sender)
        return [.vardicts(log.entries(call.integer(0)).map { isReader ? $0.fields : $0.publicFields })]
    }
}
