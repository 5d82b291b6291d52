package import BTCallAPI
package import ControlLoop

/// The daemon's lifecycle as `Manager1` controls it.
@ControlPlane
package protocol Activating: AnyObject {
    var state: ManagerDescription.State { get }
    var stateChanges: Signal<Void> { get }
    func activate() async throws(APIError)
    func deactivate() async throws(APIError)
    func logout(forgettingHeadsets: Bool) async throws(APIError)
}
