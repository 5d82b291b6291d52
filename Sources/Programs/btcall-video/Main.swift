@main
struct Main {
    static func main() {
        VideoProgram.run(CommandLine.arguments)
    }
}
