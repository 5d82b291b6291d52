/// The version of btcall: of the daemon, of the programs, and of the packages.
package enum ProductVersion {
    package static let current = "0.2.0"
}
