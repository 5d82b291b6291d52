import BTCallDaemon

@main
struct Main {
    static func main() {
        DaemonCommand.run(CommandLine.arguments)
    }
}
