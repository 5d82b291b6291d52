package import BTCallAPI
import ControlLoop
package import DBus

// Arguments of a method call. The bus connection has checked them against the declared signature before a handler runs,
// so the fallbacks below are never seen by a client.

package func argument(_ call: MethodCall, _ index: Int) -> Value {
    call.arguments.indices.contains(index) ? call.arguments[index] : .string("")
}

/// - Parameter what: the argument, for the message.
/// - Throws: `invalidArgument` for one that is longer than the limit.
package func text(_ call: MethodCall, _ index: Int, _ what: String, _ limit: TextLimit) throws(APIError) -> String {
    try limit.check(argument(call, index).stringValue ?? "", what)
}

/// Runs a handler that refuses with `APIError` as one that refuses with the bus error of the same name.
@ControlPlane
package func reply(_ body: () throws(APIError) -> [Value]) throws(BusError) -> [Value] {
    do throws(APIError) {
        return try body()
    } catch {
        throw error.busError
    }
}

/// The same for one that waits and has nothing to answer.
@ControlPlane
package func asyncReply(_ body: @ControlPlane () async throws(APIError) -> Void) async throws(BusError) -> [Value] {
    do throws(APIError) {
        try await body()
        return []
    } catch {
        throw error.busError
    }
}
