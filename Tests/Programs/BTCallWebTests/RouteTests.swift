import BTCall
import CommandTestSupport
import ControlLoop
import Foundation
import JSONText
import TestSupport
import Testing
import WebTokens

@testable import btcall_web

@Suite @ControlPlane struct RouteTests {
    /// The only route without a token, and why: it describes the others, and says nothing of this machine.
    private static let open: Set = ["/v1/openapi.json"]

    @Test func `every route has a scope, and its own method and path`() {
        for route in RouteTable.routes where !Self.open.contains(route.path) {
            #expect(route.scope != nil, "\(route.method) \(route.path)")
        }
        let names = RouteTable.routes.map { "\($0.method) \($0.path)" }
        #expect(Set(names).count == names.count)
    }

    @Test func `a route that changes something is no GET, and needs more than read`() {
        for route in RouteTable.routes {
            #expect((route.method == "GET") == (route.scope == .read || route.scope == nil), "\(route.path)")
        }
    }

    @Test(arguments: RouteTable.routes.map { "\($0.method) \($0.path)" })
    func `a route is open to its scope and to admin alone`(name: String) async throws {
        let route = try #require(RouteTable.routes.first { "\($0.method) \($0.path)" == name })
        try await WebBox.run { box in
            for scope in WebScope.allCases {
                let allowed = route.scope == nil || scope == route.scope || scope == .admin
                let error = try await box.error(box.request(route, token: try box.token([scope])))
                #expect((error == "noScope") == !allowed, "\(name) with \(scope): \(error ?? "done")")
            }
            let others = Set(WebScope.allCases).subtracting([.admin]).subtracting(route.scope.map { [$0] } ?? [])
            let error = try await box.error(box.request(route, token: try box.token(others)))
            #expect((error == "noScope") == (route.scope != nil))
            #expect((try await box.error(box.request(route, token: nil)) == "noToken") == (route.scope != nil))
            #expect((try await box.error(box.request(route, token: "a.b.c")) == "badToken") == (route.scope != nil))
        }
    }

    @Test func `literal parts of a path win over parameters`() {
        #expect(RouteTable.find("POST", "/v1/calls/incoming")?.route.path == "/v1/calls/incoming")
        #expect(RouteTable.find("GET", "/v1/calls/x")?.parameters == ["call": "x"])
        #expect(RouteTable.find("GET", "/v1/calls/") == nil)
        #expect(RouteTable.find("GET", "/v1/calls/x/") == nil)
        #expect(RouteTable.methods(of: "/v1/pairing") == ["DELETE", "GET", "POST"])
    }

    @Test func `the description names every route, and every object that it refers to`() throws {
        let json = OpenAPIDescription.json(RouteTable.routes)
        let paths = try #require(json["paths"])
        for route in RouteTable.routes {
            let operation = try #require(paths[route.path]?[route.method.lowercased()], "\(route.path)")
            #expect(operation["responses"]?[String(route.status)] != nil, "\(route.path)")
        }
        let text = json.text()
        let schemas = try #require(json["components"]?["schemas"])
        for match in text.matches(of: /#\\?\/components\\?\/schemas\\?\/(\w+)/) {
            #expect(schemas[String(match.1)] != nil, "\(match.1)")
        }
        #expect(text.contains("#/components/schemas/Status"))
    }

    @Test func `the objects are those of the reference pages`() throws {
        var pages: [String: [WebSchema.Field]] = [:]
        for name in ["JSONObjects", "JSONReports"] {
            var section = ""
            let text = try String(
                contentsOf: Page.root.appending(path: "docs/reference/\(name).md"), encoding: .utf8)
            for line in text.split(separator: "\n") {
                if line.hasPrefix("#") { section = String(line.drop { $0 == "#" || $0 == " " }) }
                let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                guard line.hasPrefix("| `"), cells.count >= 3 else { continue }
                let field = cells[0].trimmingCharacters(in: CharacterSet(charactersIn: "`"))
                pages[section, default: []].append(WebSchema.Field(name: field, type: cells[1]))
            }
        }
        #expect(WebSchema.objectsOfPages.count > 20)
        for (name, fields) in WebSchema.objectsOfPages { #expect(pages[name] == fields, "\(name)") }
    }
}
