import BluetoothTypes
import Configuration
import ControlLoop
import Foundation
import HandsFree
import HeadsetControl
import TestSupport
import Testing

@Suite struct CodecMemoryStoreTests {
    private let key = CodecMemories.Key(
        adapter: BluetoothAddress(value: 0x0000_5E00_5300), headset: BluetoothAddress(value: 0x0000_5E00_5301))
    private let memory = CodecMemory(
        lacking: [.lc3SWB], ceiling: .cvsd, failures: 2, unanswered: 3, offered: [.cvsd, .mSBC, .lc3SWB])

    private func inDirectory(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-codecs-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay in the temporary directory.
        try body(folder.path())
    }

    @Test func `a written file is read back unchanged, and an absent file is empty`() throws {
        try inDirectory { directory in
            let store = CodecMemoryStore(directory: directory, kernel: "6.1.0")
            #expect(try store.load(codecs: [.mSBC, .cvsd]).isEmpty)
            let other = CodecMemories.Key(adapter: key.headset, headset: key.adapter)
            let all = [key: memory, other: CodecMemory(unanswered: 1)]
            try store.file.replace(with: store.text(all, codecs: [.mSBC, .cvsd]))
            #expect(try store.load(codecs: [.mSBC, .cvsd]) == all)
            try store.file.replace(with: store.text([:], codecs: [.mSBC, .cvsd]))
            #expect(try store.load(codecs: [.mSBC, .cvsd]).isEmpty)
        }
    }

    @Test func `the file is void with another kernel or other codecs of ours`() throws {
        try inDirectory { directory in
            let store = CodecMemoryStore(directory: directory, kernel: "6.1.0")
            try store.file.replace(with: store.text([key: memory], codecs: [.mSBC, .cvsd]))
            #expect(try CodecMemoryStore(directory: directory, kernel: "6.2.0").load(codecs: [.mSBC, .cvsd]).isEmpty)
            #expect(try CodecMemoryStore(directory: directory, kernel: "6.1.0").load(codecs: [.cvsd]).isEmpty)
            #expect(
                try CodecMemoryStore(directory: directory, kernel: "6.1.0").load(codecs: [.mSBC, .cvsd]).count == 1)
        }
        #expect(!CodecMemoryStore.runningKernel.isEmpty)
    }

    @Test(arguments: [
        "[00:00:5E:00:53:00]\nfailures = 1\n", "[00:00:5E:00:53:00 00:00:5E:00:53:01]\nfailures = -1\n",
        "[00:00:5E:00:53:00 00:00:5E:00:53:01]\nfailures = 1001\n",
        "[00:00:5E:00:53:00 00:00:5E:00:53:01]\nceiling = opus\n",
        "[00:00:5E:00:53:00 00:00:5E:00:53:01]\ncolour = red\n", "nonsense\n",
    ])
    @ControlPlane func `an invalid file is reported with its line, and learning continues`(_ text: String) throws {
        try inDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(filePath: directory + "/codecs.conf"))
            let store = CodecMemoryStore(directory: directory, kernel: "6.1.0")
            let error = try #require(throws: ConfigurationError.self) { try store.load(codecs: [.cvsd]) }
            #expect(error.line != nil && "\(error)".contains("codecs.conf"), "\(error)")
            let log = LogLines()
            let memories = CodecMemories(
                store: store, codecs: [.cvsd], writer: StateWriter(isImmediate: true), logger: log.logger)
            #expect(!log.containing("error", "not restored", "codecs.conf").isEmpty)
            memories.learn(memory, of: key.headset, on: key.adapter)
            #expect(try store.load(codecs: [.cvsd]) == [key: memory])
        }
    }

    @Test @ControlPlane func `an unwritable directory is reported, and learnt codecs stay valid in memory`() throws {
        let store = CodecMemoryStore(directory: "/proc/btcall", kernel: "6.1.0")
        let memories = CodecMemories(
            store: store, codecs: [.cvsd], writer: StateWriter(isImmediate: true), logger: LogLines().logger)
        var told: [String?] = []
        memories.kept.subscribe { told.append($0) }
        memories.learn(memory, of: key.headset, on: key.adapter)
        #expect(told.count == 1 && told.first??.contains("/proc/btcall/codecs.conf") == true)
        #expect(memories.memory(of: key.headset, on: key.adapter) == memory)
        memories.learn(memory, of: key.headset, on: key.adapter)
        #expect(told.count == 1)
    }

    @Test @ControlPlane func `codecs learnt on one adapter do not apply to a headset on another adapter`() throws {
        let memories = CodecMemories(
            store: nil, codecs: [.mSBC, .cvsd], writer: StateWriter(isImmediate: true), logger: LogLines().logger)
        memories.learn(memory, of: key.headset, on: key.adapter)
        #expect(memories.memory(of: key.headset, on: key.headset) == CodecMemory())
        #expect(memories.memory(of: key.headset, on: nil) == CodecMemory())
        memories.learn(memory, of: key.headset, on: nil)
        #expect(memories.knows(key.headset) && memories.memory(of: key.headset, on: nil) == memory)
        memories.forget(key.headset)
        #expect(!memories.knows(key.headset))
    }
}
