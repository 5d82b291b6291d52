import BTCallAPI
import ControlLoop
import DBus

// Members of an object on the bus, each declared with the object's method that handles it. The object refuses with an
// `APIError`, and the caller gets the bus error of the same name. The bus keeps the object alive while it is exported.

extension ExportedInterface.Method {
    /// - Parameter answer: returns the values declared by `results`.
    init(
        _ name: String, in arguments: [(name: String, signature: String)] = [],
        out results: [(name: String, signature: String)], isReading: Bool = false,
        by answer: @escaping @ControlPlane (MethodCall) async throws(APIError) -> [Value]
    ) {
        self.init(name, in: arguments, out: results, isReading: isReading) { call async throws(BusError) in
            do throws(APIError) {
                return try await answer(call)
            } catch {
                throw error.busError
            }
        }
    }

    /// Creates a method without results.
    init(
        _ name: String, in arguments: [(name: String, signature: String)] = [],
        by perform: @escaping @ControlPlane (MethodCall) async throws(APIError) -> Void
    ) {
        self.init(name, in: arguments, out: []) { call async throws(APIError) in
            try await perform(call)
            return []
        }
    }
}

extension ExportedInterface.Property {
    /// Creates a property that clients may set.
    init(
        _ name: String, _ signature: String, get: @escaping @ControlPlane () -> Value,
        by set: @escaping @ControlPlane (Value) throws(APIError) -> Void
    ) {
        self.init(
            name, signature, get: get,
            set: { value throws(BusError) in
                do throws(APIError) {
                    try set(value)
                } catch {
                    throw error.busError
                }
            })
    }
}
