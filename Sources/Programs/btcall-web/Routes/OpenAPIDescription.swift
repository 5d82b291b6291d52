import BTCallAPI
import JSONText
import WebTokens

/// The description of the routes for programs: OpenAPI 3.1.
enum OpenAPIDescription {
    static func json(_ routes: [Route]) -> JSON {
        var paths: [(String, JSON)] = []
        for route in routes where !paths.contains(where: { $0.0 == route.path }) {
            let methods = routes.filter { $0.path == route.path }
            paths.append((route.path, JSON(methods.map { ($0.method.lowercased(), operation($0)) })))
        }
        let schemas = WebSchema.objects.sorted { $0.key < $1.key }.map { ($0.key, WebSchema.object($0.value)) }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "btcall-web", "version": .string(ProductVersion.current),
                "description": "Calls, routes and Bluetooth headsets of this machine.",
            ],
            "paths": JSON(paths),
            "components": [
                "schemas": JSON(schemas),
                "securitySchemes": [
                    "token": ["type": "http", "scheme": "bearer", "bearerFormat": "JWT"],
                    "signature": ["type": "apiKey", "in": "header", "name": "Btcall-Signature"],
                ],
            ],
        ]
    }

    private static func operation(_ route: Route) -> JSON {
        var members: [(String, JSON)] = [
            ("summary", .string(route.summary)), ("operationId", .string(identifier(route))),
        ]
        let parameters = route.parameters.map(parameter) + route.query.map(query)
        if !parameters.isEmpty { members.append(("parameters", .array(parameters))) }
        if let body = route.body {
            members.append(
                (
                    "requestBody",
                    [
                        "required": JSON(body.contains { $0.isRequired }),
                        "content": ["application/json": ["schema": schema(body)]],
                    ]
                ))
        }
        members.append(("security", security(route)))
        members.append(("responses", responses(route)))
        return JSON(members)
    }

    /// `putV1RoutePreferred`.
    private static func identifier(_ route: Route) -> String {
        let words = route.path.split { !$0.isLetter && !$0.isNumber }
        return route.method.lowercased() + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func parameter(_ name: String) -> JSON {
        let schema: JSON =
            switch name {
            case "call": WebSchema.json("call")
            case "address": WebSchema.json("address")
            default: WebSchema.json("string")
            }
        return ["name": .string(name), "in": "path", "required": true, "schema": schema]
    }

    private static func query(_ field: Route.Field) -> JSON {
        [
            "name": .string(field.name), "in": "query", "required": JSON(field.isRequired),
            "description": .string(field.meaning), "schema": .object(facts(field)),
        ]
    }

    private static func schema(_ fields: [Route.Field]) -> JSON {
        let properties = fields.map { field in
            (field.name, JSON.object(facts(field) + [JSON.Member("description", .string(field.meaning))]))
        }
        return [
            "type": "object", "additionalProperties": false,
            "required": JSON(fields.filter(\.isRequired).map(\.name)), "properties": JSON(properties),
        ]
    }

    /// Type and bounds of a value.
    private static func facts(_ field: Route.Field) -> [JSON.Member] {
        guard case .object(var members) = WebSchema.json(field.type) else { return [] }
        if !field.words.isEmpty { members.append(JSON.Member("enum", JSON(field.words))) }
        guard let range = field.range else { return members }
        let names = field.type == "string" ? ("minLength", "maxLength") : ("minimum", "maximum")
        members.append(JSON.Member(names.0, JSON(range.lowerBound)))
        if range.upperBound < Int.max { members.append(JSON.Member(names.1, JSON(range.upperBound))) }
        return members
    }

    private static func security(_ route: Route) -> JSON {
        switch route.access {
        case .open: []
        case .scope(let scope): [["token": JSON([scope.rawValue])]]
        case .scopeOrSignature(let scope): [["token": JSON([scope.rawValue])], ["signature": []]]
        }
    }

    private static func responses(_ route: Route) -> JSON {
        let schema = route.answer.map { WebSchema.json($0) } ?? ["type": "string"]
        let content = JSON([(route.mediaType, JSON([("schema", schema)]))])
        let error: JSON = [
            "description": "An error, with its name on the bus.",
            "content": ["application/json": ["schema": WebSchema.json("Error")]],
        ]
        let done: JSON = ["description": .string(route.summary), "content": content]
        var members = [route.status, route.repeatedStatus].compactMap(\.self).map { (String($0), done) }
        for status in errors(route) { members.append((String(status), error)) }
        return JSON(members)
    }

    /// Statuses that every route can have, and those of its kind.
    private static func errors(_ route: Route) -> [Int] {
        var statuses = [400, 404, 405, 408, 409, 413, 414, 421, 429, 431, 501, 502, 503, 504]
        if route.access != .open { statuses += [401] }
        statuses += [403]
        if route.body != nil { statuses += [415] }
        if route.path == "/v1/socket" { statuses += [426] }
        return statuses.sorted()
    }
}
