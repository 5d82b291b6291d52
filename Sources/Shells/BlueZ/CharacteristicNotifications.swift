import BluetoothTypes
package import ControlLoop
package import DBus

/// The notifications of one characteristic, until they are stopped or the connection is dropped.
///
/// bluetoothd goes on with them when the device comes back, until the program that started them ends.
@ControlPlane
package final class CharacteristicNotifications {
    /// A value that the device has notified.
    package var onValue: (@ControlPlane ([UInt8]) -> Void)?
    private let bus: BusConnection
    private let path: String
    private var subscription: Subscription?

    private static let timeout = Duration.seconds(10)

    package init(of characteristic: GATTCharacteristic, on bus: BusConnection) {
        self.bus = bus
        path = characteristic.path
    }

    isolated deinit { subscription?.cancel() }

    /// Starts the notifications; set `onValue` before.
    package func start() async throws(DeviceCallError) {
        subscription = bus.subscribe(
            sender: BlueZNames.service, path: path, interface: BlueZNames.properties, member: "PropertiesChanged",
            argument0: BlueZNames.gattCharacteristic
        ) { [weak self] signal in
            guard signal.arguments.count >= 2, let value = signal.arguments[1]["Value"]?.bytesValue else { return }
            self?.onValue?(value)
        }
        do throws(BusError) {
            _ = try await bus.call(
                BlueZNames.service, path, BlueZNames.gattCharacteristic, "StartNotify", timeout: Self.timeout)
        } catch {
            // Of an earlier connection: they have gone on.
            guard error.message != "Already notifying", !error.hasName(BlueZNames.errorPrefix + "InProgress") else {
                return
            }
            subscription?.cancel()
            subscription = nil
            throw DeviceCallError(error)
        }
    }

    /// Ignores values from now on: the device has gone.
    package func drop() {
        subscription?.cancel()
        subscription = nil
        onValue = nil
    }

    /// Ends the notifications.
    package func stop() {
        guard subscription != nil else { return }
        drop()
        bus.post(BlueZNames.service, path, BlueZNames.gattCharacteristic, "StopNotify")
    }
}
