import Foundation
import TestSupport
import Testing

/// The reader of a message has a board, not the sources.
@Suite struct RemedyTests {
    @Test func `No message of the daemon or of btcall names a file of the source tree`() throws {
        let file = /(^|[ "`(])(scripts|dbus|udev|Tests|Sources|docs|man)\/[a-z]|(^|[ "`(])etc\/[a-z]/
        var lines = 0
        for path in try Page.paths(
            withSuffix: ".swift",
            under: ["Sources/Daemon", "Sources/Shells", "Sources/Client", "Sources/Programs/BTCallCommand"])
        {
            for line in try RepositoryTests.contents(path).split(separator: "\n") {
                let code = line.drop { $0 == " " }
                lines += 1
                guard !code.hasPrefix("//"), !path.contains(".docc/") else { continue }
                #expect(code.firstMatch(of: file) == nil, "\(path): \(code)")
            }
        }
        #expect(lines > 20_000)
    }

    @Test func `The pages for users say one way to install the plug-in`() throws {
        for page in try Page.paths(withSuffix: ".md", under: ["docs"]) where !page.hasPrefix("docs/inside/") {
            let text = try RepositoryTests.contents(page)
            #expect(!text.contains("build-pcm-plugin"), "\(page)")
        }
        #expect(try !RepositoryTests.contents("README.md").contains("build-pcm-plugin"))
        #expect(try RepositoryTests.contents("scripts/install").contains("scripts/build-pcm-plugin install"))
    }
}
