import BTCallAPI
import ControlLoop
import DBus

extension MethodCall {
    typealias Handler = @ControlPlane (MethodCall) async throws(BusError) -> [Value]

    /// A method, whose refusal is the bus error of the same name.
    @ControlPlane
    static func answering(
        _ answer: @escaping @ControlPlane (MethodCall) async throws(APIError) -> [Value]
    ) -> Handler {
        { call async throws(BusError) in
            do throws(APIError) {
                return try await answer(call)
            } catch {
                throw error.busError
            }
        }
    }

    /// A method without results.
    @ControlPlane
    static func performing(
        _ perform: @escaping @ControlPlane (MethodCall) async throws(APIError) -> Void
    ) -> Handler {
        answering { call async throws(APIError) in
            try await perform(call)
            return []
        }
    }
}
