import ArgumentParser
import BTCallDaemon
import CommandKit
import Configuration
import Testing

@testable import BTCallCommand

@Suite struct ManualTests {
    @Test func `There is a page for btcall, for each of its verbs, and for the configuration`() throws {
        let names = try ManualCommand.pages().map(\.fileName)
        let verbs = HelpTests.verbs.filter { $0.words.count == 1 }.map { "btcall-\($0.words[0]).1" }
        #expect(names == ["btcall.1"] + verbs + ["btcalld.conf.5"])
    }

    @Test func `A verb's page has its command line, its options and its examples`() throws {
        let page = try #require(try ManualCommand.pages().first { $0.name == "btcall-move" }).roff(version: "1")
        #expect(page.contains("btcall move [<device> | \\-\\-clear]"))
        #expect(page.contains(".TP\n\\fB\\-\\-clear\\fR\nWithdraw the choice.\n"))
        #expect(page.contains("\\fB\\-\\-bus\\fR \\fIbus\\fR"))
        #expect(
            page.contains(".SH \"EXAMPLES\"\n.PP\n.nf\n.RS 4\nbtcall move speakerphone\nbtcall move \\-\\-clear\n"))
    }

    @Test func `The first page has each old name with the new one, and every exit code`() throws {
        let page = try #require(try ManualCommand.pages().first).roff(version: "1")
        for name in OldVerbs.names {
            let (old, new) = (name.old.joined(separator: " "), name.new.joined(separator: " "))
            #expect(page.contains(".TP\n\\fBbtcall \(old)\\fR\n\\fBbtcall \(new)\\fR\n"))
        }
        #expect(page.contains(".SH \"EXIT STATUS\"\n.TP\n\\fB0\\fR\nDone.\n"))
    }

    @Test func `A page of several verbs has each of them`() throws {
        let page = try #require(try ManualCommand.pages().first { $0.name == "btcall-session" }).roff(version: "1")
        #expect(page.contains(".SH \"btcall session status\""))
        #expect(page.contains(".SH \"btcall session activate\""))
        #expect(page.contains("btcall session activate [\\-\\-bus <bus>] \\-\\- COMMAND..."))
    }

    @Test func `The page of the configuration has every key with its values, its default and its effect`() {
        let page = ConfigurationManual.page.roff(version: "1")
        var keys = 0
        for section in ConfigurationSection.all {
            #expect(page.contains(".SH \"[\(section.name)]\"\n"))
            for key in section.keys {
                keys += 1
                #expect(page.contains(".TP\n\\fB\(key.name)\\fR\n"), "\(key.name)")
            }
        }
        #expect(keys > 60)
        #expect(page.contains("Values: trace, debug, info, notice, warning, error, critical. Default: info.\n"))
        #expect(page.contains("A change acts at once.\n"))
    }

    @Test func `Text is escaped so that roff prints it unchanged`() {
        #expect(ManualPage.code("a-b 'c' \\d") == "a\\-b \\(aqc\\(aq \\(rsd")
        #expect(ManualPage.text("so `btcall --x` …") == "so \\fBbtcall \\-\\-x\\fR \\[u2026]")
        #expect(ManualPage.text("one ` alone") == "one \\(ga alone")
        var page = ManualPage("a", section: 1, summary: "What it is.")
        page.prose(".one\ntwo\n\n  on, off    a switch\n  lone")
        let head =
            ".\\\" Made by `btcall manual`.\n.TH A 1 \"\" \"btcall 2\" btcall\n.nh\n.ad l\n.SH \"NAME\"\na \\- what it is\n"
        #expect(
            page.roff(version: "2") == head
                + ".PP\n\\&.one\ntwo\n.TP\non, off\na switch\n.RS 4\nlone\n.RE\n")
    }
}
