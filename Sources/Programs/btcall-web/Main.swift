@main
struct Main {
    static func main() {
        WebProgram.run(CommandLine.arguments)
    }
}
