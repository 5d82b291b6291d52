import Glibc

/// Faults that a debug build commits on request, so that the check for allocations and locks on the real-time thread can
/// be checked itself.
enum PlantedFault {
    /// What `BTCALL_PLANT` asks for: `malloc` (1) or `mutex` (2), in every tick; 0 for nothing, always in release builds.
    static var requested: Int32 {
        #if DEBUG
            guard let value = getenv("BTCALL_PLANT") else { return 0 }
            switch String(cString: value) {
            case "malloc": return 1
            case "mutex": return 2
            default: return 0
            }
        #else
            return 0
        #endif
    }
}
