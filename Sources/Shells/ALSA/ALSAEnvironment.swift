import CALSA
import CBTCall
import Glibc

/// Settings of alsa-lib that hold for the whole process.
package enum ALSAEnvironment {
    /// Turns alsa-lib's own locking off and keeps its messages from standard error. Call it once, before the first PCM is
    /// opened and before there are threads: every handle is used by one thread at a time here.
    package static func prepare() {
        setenv("LIBASOUND_THREAD_SAFE", "0", 1)
        _ = snd_lib_error_set_handler(OpaquePointer(btcall_alsa_message_handler()))
    }

    /// alsa-lib's message about the latest failure on this thread, for the log; nil without one.
    package static func takeMessage() -> String? {
        let message = String(cString: btcall_alsa_last_message())
        return message.isEmpty ? nil : message
    }
}
