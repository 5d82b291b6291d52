@main
struct Main {
    static func main() {
        BaresipProgram.run(CommandLine.arguments)
    }
}
