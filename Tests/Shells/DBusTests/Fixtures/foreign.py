"""A D-Bus client and server that share no code with ours. Arguments: client|server, bus address."""
import os
import sys

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service


def client(bus):
    model = bus.get_object("org.btcall.test.Name", "/m/one")
    iface = dbus.Interface(model, "org.btcall.test.Model")
    props = dbus.Interface(model, "org.freedesktop.DBus.Properties")
    # Introspects first, to find the types.
    assert iface.Add(2, 3) == 5
    assert iface.Reverse(["a", "ö"]) == ["ö", "a"]
    assert props.Get("org.btcall.test.Model", "Volume") == 7
    props.Set("org.btcall.test.Model", "Volume", dbus.UInt32(3))
    assert props.GetAll("org.btcall.test.Model")["Volume"] == 3
    for wrong, name in (
        (lambda: iface.Add("x", signature="s"), "InvalidArgs"),
        (lambda: iface.Nothing(), "UnknownMethod"),
        (lambda: props.Set("org.btcall.test.Model", "Volume", dbus.UInt32(99)), "InvalidArgs"),
        (lambda: bus.get_object("org.btcall.test.Name", "/none").Nothing(dbus_interface="a.b"), "UnknownObject"),
    ):
        try:
            wrong()
            raise AssertionError("no error")
        except dbus.DBusException as error:
            assert error.get_dbus_name().endswith(name), error
    # Without an interface name, and without wanting a reply.
    message = dbus.lowlevel.MethodCallMessage("org.btcall.test.Name", "/m/one", None, "Add")
    message.append(1, 1, signature="ii")
    assert bus.send_message_with_reply_and_block(message, 5.0).get_args_list() == [2]
    message = dbus.lowlevel.MethodCallMessage("org.btcall.test.Name", "/m/one", "no.such.interface", "Add")
    message.set_no_reply(True)
    bus.send_message(message)
    dbus.Interface(model, "org.freedesktop.DBus.Peer").Ping()
    manager = dbus.Interface(bus.get_object("org.btcall.test.Name", "/m"), "org.freedesktop.DBus.ObjectManager")
    assert "org.btcall.test.Model" in manager.GetManagedObjects()["/m/one"]
    reader, writer = os.pipe()
    dbus.Interface(model, "org.btcall.test.Descriptor").Write(dbus.types.UnixFd(writer), "through")
    os.close(writer)
    assert os.read(reader, 100) == b"through"
    assert os.read(reader, 100) == b""
    print("ok", flush=True)


class Failure(dbus.DBusException):
    _dbus_error_name = "org.btcall.test.Error"


class Server(dbus.service.Object):
    @dbus.service.method("org.btcall.test.Python", in_signature="a{sv}(yd)", out_signature="a{sv}(yd)")
    def Mix(self, values, pair):
        self.Called("called")
        return values, pair

    @dbus.service.method("org.btcall.test.Python")
    def Fail(self):
        raise Failure("as asked")

    @dbus.service.signal("org.btcall.test.Python", signature="s")
    def Called(self, text):
        pass


def serve(bus):
    from gi.repository import GLib

    name = dbus.service.BusName("org.btcall.test.Python", bus)
    server = Server(bus, "/py")
    print("ready", flush=True)
    GLib.MainLoop().run()
    return name, server


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(sys.argv[2])
    {"client": client, "server": serve}[sys.argv[1]](bus)


main()
