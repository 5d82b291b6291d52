import Glibc

/// Entry points for libFuzzer. The environment variable BTCALL_FUZZ names the target. Memory that the target's own code
/// keeps from one input to the next is summed, and more than a megabyte is a failure like a crash.
private enum Driver {
    nonisolated(unsafe) static var target = FuzzTarget.all[0]
    nonisolated(unsafe) static var inputs = 0
    nonisolated(unsafe) static var kept = 0
    /// The first inputs fill caches of the runtime.
    static let warmUp = 1000
    static let limit = 1 << 20
}

@_silgen_name("__sanitizer_get_current_allocated_bytes")
private func allocatedBytes() -> Int

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer, _ arguments: UnsafeMutableRawPointer) -> CInt {
    let name = getenv("BTCALL_FUZZ").map { String(cString: $0) } ?? ""
    guard let target = (FuzzTarget.all + [.canary]).first(where: { $0.name == name }) else {
        fail("there is no target “\(name)”: \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
    }
    Driver.target = target
    atexit { report() }
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let before = allocatedBytes()
    run(Array(UnsafeBufferPointer(start: data, count: count)))
    Driver.inputs += 1
    if Driver.inputs > Driver.warmUp { Driver.kept += allocatedBytes() - before }
    if Driver.kept > Driver.limit {
        fail("\(Driver.target.name): \(Driver.kept) bytes are kept after \(Driver.inputs) inputs")
    }
    return 0
}

/// A function of its own, so that everything is freed when it returns.
@inline(never)
private func run(_ input: [UInt8]) {
    do {
        try Driver.target.run(input)
    } catch {
        fail("\(Driver.target.name): \(error)")
    }
}

private func report() {
    print("kept: \(Driver.kept) bytes after \(Driver.inputs) inputs")
}

/// A trap: libFuzzer treats it as a crash and keeps the input.
private func fail(_ reason: String) -> Never {
    print("BROKEN: \(reason)")
    fflush(nil)
    abort()
}
