// One incoming call whose far end hears itself: gcc answer.c -o answer $(pkg-config --cflags --libs libsystemd); ./answer NUMBER
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>

#define CALLS "org.btcall", "/org/btcall/calls", "org.btcall.Calls1"

static const char *call;

static int perform(sd_bus_message *request, void *loop, sd_bus_error *error) {
    printf("asked: %s\n", strcmp(sd_bus_message_get_member(request), "PerformEnd") ? "answer" : "end");
    return sd_bus_reply_method_return(request, "");
}
static int exchange(sd_event_source *source, int line, uint32_t events, void *data) {
    char block[65536];  // one block back for each block of 10 ms received
    ssize_t size = recv(line, block, sizeof block, 0);
    return size > 0 && send(line, block, size, MSG_NOSIGNAL) == size ? 0 : sd_event_source_set_enabled(source, SD_EVENT_OFF);
}
static int audio(sd_bus_message *request, void *loop, sd_bus_error *error) {
    int line, result = sd_bus_message_read(request, "oh", NULL, &line);  // sd-bus closes it with the message: keep a copy
    if (result >= 0) sd_event_add_io(loop, NULL, fcntl(line, F_DUPFD_CLOEXEC, 3), EPOLLIN, exchange, NULL);
    return result < 0 ? result : sd_bus_reply_method_return(request, "");
}
static int changed(sd_bus_message *signal, void *loop, sd_bus_error *error) {
    const char *state = "";
    if (!call || strcmp(sd_bus_message_get_path(signal), call)) return 0;  // of another application
    sd_bus_message_read(signal, "s", &state);
    printf("state: %s\n", state);
    return strcmp(state, "ended") ? 0 : sd_event_exit(loop, 0);
}
static const sd_bus_vtable phone[] = { SD_BUS_VTABLE_START(SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("PerformAnswer", "oa{sv}", "", perform, 0), SD_BUS_METHOD("PerformEnd", "os", "", perform, 0),
    SD_BUS_METHOD("AudioReady", "oha{sv}", "", audio, 0), SD_BUS_VTABLE_END };

int main(int count, char **words) {
    sd_bus *bus; sd_event *loop; sd_bus_error error = SD_BUS_ERROR_NULL; sd_bus_message *reply;
    setlinebuf(stdout);
    if (count == 2 && sd_bus_open_system(&bus) >= 0 && sd_event_default(&loop) >= 0 && sd_bus_attach_event(bus, loop, 0) >= 0
        && sd_bus_add_object_vtable(bus, NULL, "/phone", "org.btcall.CallProvider1", phone, loop) >= 0
        && sd_bus_match_signal(bus, NULL, "org.btcall", NULL, "org.btcall.Call1", "StateChanged", changed, loop) >= 0
        && sd_bus_call_method(bus, CALLS, "RegisterProvider", &error, NULL, "oa{sv}", "/phone", 1, "name", "s", "answer.c") >= 0
        && sd_bus_call_method(bus, CALLS, "ReportIncoming", &error, &reply, "osa{sv}", "/phone", words[1], 0) >= 0
        && sd_bus_message_read(reply, "o", &call) >= 0 && printf("ringing: %s\n", call) > 0) return sd_event_loop(loop);
    return fprintf(stderr, "%s\n", error.message ? error.message : "usage: answer NUMBER, with btcalld on the system bus"), 1;
}
