package import BluetoothTypes
package import Configuration
package import ControlLoop
package import HandsFree
package import Logging

/// What btcalld has learnt about the codecs of headsets, by adapter, kept over restarts.
@ControlPlane
package final class CodecMemories {
    /// Adapter and headset: a headset may do better or worse on another adapter.
    package struct Key: Hashable, Comparable, Sendable {
        package let adapter: BluetoothAddress
        package let headset: BluetoothAddress

        package init(adapter: BluetoothAddress, headset: BluetoothAddress) {
            self.adapter = adapter
            self.headset = headset
        }

        package static func < (left: Key, right: Key) -> Bool {
            (left.adapter, left.headset) < (right.adapter, right.headset)
        }
    }

    /// Saving failed, with the reason; nil once it works again.
    package let kept = Signal<String?>()
    private let store: CodecMemoryStore?
    private let writer: StateWriter
    private var codecs: [VoiceCodec]
    private var memories: [Key: CodecMemory]
    /// Memories of headsets on an adapter that bluetoothd has not named; not saved.
    private var unplaced: [BluetoothAddress: CodecMemory] = [:]

    /// - Parameters:
    ///   - store: nil saves nothing.
    ///   - codecs: ours; memories learnt with other codecs are void.
    package init(store: CodecMemoryStore?, codecs: [VoiceCodec], writer: StateWriter, logger: Logger) {
        self.store = store
        self.writer = writer
        self.codecs = codecs
        do throws(ConfigurationError) {
            memories = try store?.load(codecs: codecs) ?? [:]
        } catch {
            logger.error("learnt codecs of headsets are not restored, btcalld learns them again: \(error)")
            memories = [:]
        }
    }

    package func memory(of headset: BluetoothAddress, on adapter: BluetoothAddress?) -> CodecMemory {
        guard let adapter else { return unplaced[headset] ?? CodecMemory() }
        return memories[Key(adapter: adapter, headset: headset)] ?? CodecMemory()
    }

    package func knows(_ headset: BluetoothAddress) -> Bool {
        unplaced[headset] != nil || memories.keys.contains { $0.headset == headset }
    }

    package func learn(_ memory: CodecMemory, of headset: BluetoothAddress, on adapter: BluetoothAddress?) {
        let worthKeeping = memory.isEmpty ? nil : memory
        guard let adapter else {
            unplaced[headset] = worthKeeping
            return
        }
        let key = Key(adapter: adapter, headset: headset)
        guard memories[key] != worthKeeping else { return }
        memories[key] = worthKeeping
        save()
    }

    package func forget(_ headset: BluetoothAddress) {
        unplaced[headset] = nil
        forget { _, other in other == headset }
    }

    package func forget(where isMeant: (_ adapter: BluetoothAddress, _ headset: BluetoothAddress) -> Bool) {
        let kept = memories.filter { !isMeant($0.key.adapter, $0.key.headset) }
        guard kept.count != memories.count else { return }
        memories = kept
        save()
    }

    /// Our codecs have changed, which voids all memories.
    package func codecsChanged(_ codecs: [VoiceCodec]) {
        self.codecs = codecs
        unplaced = [:]
        forget { _, _ in true }
    }

    private func save() {
        guard let store else { return }
        writer.write(store.text(memories, codecs: codecs), to: store.file) { [weak self] error in
            self?.kept.send(error.map { "cannot keep \(store.file.path): \($0)" })
        }
    }
}

extension CodecMemory {
    /// Whether nothing was learnt; the headset's offer alone is no lesson.
    fileprivate var isEmpty: Bool { lacking.isEmpty && ceiling == nil && failures == 0 && unanswered == 0 }
}
