import Foundation
import TestSupport
import Testing

/// Most lines of a file, and of a function of `Sources`. Cut a longer one by its sense: a topic of a file becomes a file, a
/// thought of a function becomes a function.
@Suite struct LengthTests {
    private static let fileLines = 450
    private static let functionLines = 70

    /// Files that may be longer, by path, with the reason. Should be empty.
    private static let longFiles: [String: String] = [:]
    /// Functions that may be longer, by path and first line.
    private static let longFunctions: [String: String] = [:]

    struct Function: Equatable {
        /// Its first line, without indentation.
        let head: String
        /// Number of that line, from 1.
        let line: Int
        let length: Int
    }

    /// Functions, initialisers, subscripts and computed properties with a body of several lines. The sources are formatted: a
    /// body ends with a brace at the indentation of its declaration.
    static func swiftFunctions(in text: String) -> [Function] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let declaration =
            /^ *(@\w+(\([^)]*\))? +)*(\w+(\(\w+\))? +)*(func |init[?<(]|deinit |subscript[<(]|var )/
        return lines.indices.compactMap { index in
            guard lines[index].prefixMatch(of: declaration) != nil else { return nil }
            let indentation = lines[index].prefix { $0 == " " }.count
            for end in lines.indices[(index + 1)...] where !lines[end].isEmpty {
                let deeper = lines[end].prefix { $0 == " " }.count
                let rest = lines[end].dropFirst(deeper)
                if deeper == indentation, rest == "}" {
                    return Function(
                        head: String(lines[index].dropFirst(indentation)), line: index + 1, length: end - index + 1)
                }
                // The next declaration, or the end of the surrounding one: it had no body, or one on its own line.
                let isSignature = [")", "where ", "-> ", "{"].contains { rest.hasPrefix($0) }
                if deeper < indentation || deeper == indentation && !isSignature { return nil }
            }
            return nil
        }
    }

    /// Functions of C, whose braces stand alone in the first column.
    static func cFunctions(in text: String) -> [Function] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var functions: [Function] = []
        var head: Int?
        var isInBody = false
        for (index, line) in lines.enumerated() {
            if line == "{" {
                isInBody = true
            } else if line == "}", isInBody, let begin = head {
                functions.append(
                    Function(head: String(lines[begin]), line: begin + 1, length: index - begin + 1))
                (head, isInBody) = (nil, false)
            } else if !isInBody {
                // The signature is between the brace and the last empty line or comment before it.
                if line.isEmpty || line.hasPrefix("//") { head = nil } else { head = head ?? index }
            }
        }
        return functions
    }

    private func sources() throws -> [(path: String, text: String)] {
        let paths = try [".swift", ".c", ".h", ".cc", ".cpp"].flatMap {
            try Page.paths(withSuffix: $0, under: ["Sources"])
        }
        #expect(paths.count > 500)
        return try paths.sorted().map { ($0, try RepositoryTests.contents($0)) }
    }

    @Test func `functions are measured from their declaration to their last brace`() {
        let swift = """
            protocol Outside {
                func wait()
                func open(_ path: String) -> Int
            }
            extension Outside {
                @discardableResult
                package static func first(
                    _ number: Int
                ) -> Int
                where Self: AnyObject {
                    guard number > 0 else {
                        return 0
                    }

                    return number
                }
                func second() { first(1) }
                private(set) var state: Int {
                    switch 1 {
                    default: 2
                    }
                }
                let third = 3
                init?(text: String) {
                    nil
                }
            }
            func fourth() {
                fifth()
            }
            """
        #expect(
            Self.swiftFunctions(in: swift) == [
                Function(head: "package static func first(", line: 7, length: 10),
                Function(head: "private(set) var state: Int {", line: 18, length: 5),
                Function(head: "init?(text: String) {", line: 24, length: 3),
                Function(head: "func fourth() {", line: 28, length: 3),
            ])
        let c = """
            // What is here.
            enum { ONE, TWO };

            struct pair {
                int one;
            };

            /// Adds.
            static int sum(
                int one, int two)
            {
                if (one) {
                    two++;
                }

                return one + two;
            }
            """
        #expect(Self.cFunctions(in: c) == [Function(head: "static int sum(", line: 9, length: 9)])
    }

    private func tests() throws -> [(path: String, text: String)] {
        let paths = try Page.paths(withSuffix: ".swift", under: ["Tests"])
        #expect(paths.count > 300)
        return try paths.sorted().map { ($0, try RepositoryTests.contents($0)) }
    }

    @Test func `no file of the sources or the tests is too long to be read at once`() throws {
        var unused = Set(Self.longFiles.keys)
        for (path, text) in try sources() + tests() {
            let count = text.count { $0 == "\n" }
            guard count > Self.fileLines else { continue }
            unused.remove(path)
            #expect(Self.longFiles[path] != nil, "\(path) has \(count) lines, more than \(Self.fileLines)")
        }
        #expect(unused == [], "not too long any more")
    }

    @Test func `no function of the sources is too long to be read at once`() throws {
        var unused = Set(Self.longFunctions.keys)
        var count = 0
        for (path, text) in try sources() {
            let functions = path.hasSuffix(".swift") ? Self.swiftFunctions(in: text) : Self.cFunctions(in: text)
            count += functions.count
            for function in functions where function.length > Self.functionLines {
                let name = "\(path): \(function.head)"
                unused.remove(name)
                #expect(
                    Self.longFunctions[name] != nil,
                    "\(path):\(function.line) has \(function.length) lines, more than \(Self.functionLines)")
            }
        }
        #expect(count > 3000, "the sources are not measured")
        #expect(unused == [], "not too long any more")
    }
}
