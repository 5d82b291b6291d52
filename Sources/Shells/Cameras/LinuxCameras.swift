import BoardInput
package import ControlLoop
import Glibc

/// The cameras of this machine: V4L2 nodes, found in sysfs, named by the links that udev makes.
@ControlPlane
package final class LinuxCameras: CameraSystem {
    package var onChange: (@ControlPlane () -> Void)?
    private let nodes: String
    private let classes: String
    private let processes: String
    private let settling: Duration
    private var watches: [DirectoryWatch] = []
    /// Nodes beyond this number are not looked at.
    private static let mostNodes = 64
    /// Programs of a camera that are named.
    private static let mostUsers = 4

    /// - Parameters:
    ///   - nodes: directory of the device nodes.
    ///   - classes: the kernel's class directory.
    ///   - processes: directory of the processes.
    ///   - settling: quiet time required after cameras have come or gone, in which udev sets permissions and links.
    package init(
        nodes: String = "/dev", classes: String = "/sys/class/video4linux", processes: String = "/proc",
        settling: Duration = .milliseconds(300)
    ) {
        self.nodes = nodes
        self.classes = classes
        self.processes = processes
        self.settling = settling
    }

    // MARK: Arrival and removal

    package func watch() throws(SystemError) {
        guard watches.isEmpty else { return }
        let report: @ControlPlane () -> Void = { [weak self] in self?.onChange?() }
        watches = [
            try DirectoryWatch(nodes, settling: settling, isWanted: { $0.hasPrefix("video") }, onChange: report),
            // The links come after the nodes.
            try DirectoryWatch(nodes + "/v4l/by-path", settling: settling, isWanted: { _ in true }, onChange: report),
        ]
    }

    package func stop() {
        for watch in watches { watch.cancel() }
        watches = []
    }

    // MARK: The present ones

    package func cameras() -> [Camera] {
        let numbers = Directory.names(classes).compactMap { name in
            name.hasPrefix("video") ? Int(name.dropFirst("video".count)) : nil
        }
        let links = linksByNode()
        return numbers.sorted().prefix(Self.mostNodes).compactMap { camera("video\($0)", links) }
    }

    private func camera(_ node: String, _ links: [String: String]) -> Camera? {
        let path = "\(nodes)/\(node)"
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let index = Directory.text("\(classes)/\(node)/index") ?? "0"
        do throws(SystemError) {
            guard let names = try V4L2Camera.names(of: path) else { return nil }
            let id = links[node] ?? "\(names.bus.isEmpty ? node : names.bus)-video-index\(index)"
            return Camera(id: Self.word(id), path: path, name: names.card, node: UInt64(status.st_ino))
        } catch {
            // What may not be opened is a camera for all that is known, if it is the first node of its device.
            guard error.code == EACCES || error.code == EPERM, index == "0" else { return nil }
            let name = PrintableText.line(Directory.text("\(classes)/\(node)/name") ?? node)
            let id = Self.word(links[node] ?? node)
            return Camera(id: id, path: path, name: name, isPermitted: false, node: UInt64(status.st_ino))
        }
    }

    /// The links of udev by the names of their nodes. Of several links the first in alphabetical order counts: newer
    /// versions of udev add a second one.
    private func linksByNode() -> [String: String] {
        let directory = nodes + "/v4l/by-path"
        var links: [String: String] = [:]
        for name in Directory.names(directory).sorted().reversed() {
            guard let node = Directory.resolve("\(directory)/\(name)")?.split(separator: "/").last else { continue }
            links[String(node)] = name
        }
        return links
    }

    /// Without spaces, so that it is one word of a command line.
    private static func word(_ text: String) -> String {
        PrintableText.line(String(text.map { $0 == " " || $0 == "\t" ? "_" : $0 }), longest: 128)
    }

    package func open(_ camera: Camera) throws(SystemError) -> any CameraDriver { try V4L2Camera(camera.path) }

    // MARK: Programs

    package func users(of camera: Camera) -> [String] {
        guard let node = Directory.resolve(camera.path) else { return [] }
        let own = String(getpid())
        var found: [String] = []
        for process in Directory.names(processes).filter({ $0 != own && $0.allSatisfy(\.isNumber) }).sorted() {
            // Of another user's process nothing is readable, unless this is root's.
            let descriptors = "\(processes)/\(process)/fd"
            guard Directory.names(descriptors).contains(where: { target(of: "\(descriptors)/\($0)") == node }) else {
                continue
            }
            found.append(PrintableText.line(Directory.text("\(processes)/\(process)/comm") ?? "process \(process)"))
            if found.count == Self.mostUsers { break }
        }
        return found
    }

    /// What a link says; nil if it cannot be read.
    private func target(of link: String) -> String? {
        var bytes = [CChar](repeating: 0, count: 256)
        let count = readlink(link, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
