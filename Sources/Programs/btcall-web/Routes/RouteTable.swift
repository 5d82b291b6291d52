import JSONText

/// All routes: the server, its description and its tests are made from this list.
enum RouteTable {
    static let routes: [Route] =
        generalRoutes + callRoutes + deviceRoutes + pairingRoutes + settingRoutes + streamRoutes

    /// - Returns: the route with its parameters; nil when no route has this path with this method.
    static func find(_ method: String, _ path: String) -> (route: Route, parameters: [String: String])? {
        matches(path).first { $0.route.method == method }
    }

    /// Methods of the routes of a path, in alphabetical order; empty for an unknown path.
    static func methods(of path: String) -> [String] {
        Set(matches(path).map(\.route.method)).sorted()
    }

    /// Literal parts win over parameters, whatever the method.
    private static func matches(_ path: String) -> [(route: Route, parameters: [String: String])] {
        let all = routes.compactMap { route in route.match(path).map { (route: route, parameters: $0) } }
        let fewest = all.map(\.parameters.count).min()
        return all.filter { $0.parameters.count == fewest }
    }
}
