package import BTCallAPI
package import ControlLoop
package import DBus
import Glibc
package import Logging

/// The programs that read the daemon's log in place of the console (`Manager1.SubscribeLog`).
@ControlPlane
package final class LogReaders {
    private static let most = 8
    /// The most for one program, so that it does not keep all others out.
    private static let mostPerClient = 2

    private struct Place {
        let busName: String
        let reader: LogReader
        let sink: LogSink
    }

    private let logger: Logger
    private var places: [Place] = []

    package init(logger: Logger) { self.logger = logger }

    /// - Returns: the program's end of the socket.
    /// - Throws: `wrongState` when there are too many readers, in total or of this program, `fault` when no descriptor can
    ///   be created.
    package func add(_ busName: String) throws(APIError) -> PassedDescriptor {
        guard places.count(where: { $0.busName == busName }) < Self.mostPerClient else {
            throw APIError(
                .wrongState,
                "you have the log \(Self.mostPerClient) times, the most for one program: close one first")
        }
        guard places.count < Self.most else {
            throw APIError(.wrongState, "\(Self.most) programs have the log, the most there can be: close one first")
        }
        do throws(SystemError) {
            let pair = try PassedSocketPair()
            let reader = LogReader(taking: pair.ours)
            try reader.start { [weak self] reader in self?.left(reader, busName) }
            logger.notice("the log goes to \(busName)")
            places.append(Place(busName: busName, reader: reader, sink: LogSinks.add { reader.deliver($0) }))
            return pair.theirs
        } catch {
            throw APIError(.fault, "no descriptor for the log: \(error); see LimitNOFILE of the daemon")
        }
    }

    /// Ends all readers; the log goes to the console again.
    package func close() {
        for place in places {
            place.sink.end()
            place.reader.close()
        }
        places = []
    }

    private func left(_ reader: LogReader, _ busName: String) {
        guard let index = places.firstIndex(where: { $0.reader === reader }) else { return }
        places.remove(at: index).sink.end()
        logger.notice("the log no longer goes to \(busName)")
    }
}
