#define _GNU_SOURCE
#include "sco_routing.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// From the kernel's include/net/bluetooth/hci.h and hci_sock.h, which are available in user space only with BlueZ's headers.
enum { PROTOCOL_HCI = 1, SOCKET_LEVEL_HCI = 0, OPTION_FILTER = 2, CHANNEL_RAW = 0 };
enum { COMMAND_PACKET = 1, EVENT_PACKET = 4, COMMAND_COMPLETE = 0x0e, COMMAND_STATUS = 0x0f };
struct address {
    sa_family_t family;
    uint16_t device;
    uint16_t channel;
};
struct filter {
    uint32_t types;
    uint32_t events[2];
    uint16_t opcode;
};

// Core specification, volume 4, part E, 7.4.1; and the commands of Broadcom's chips as drivers/bluetooth/btbcm.c uses them:
// routing, rate, frame sync, sync mode, clock mode, one byte each.
enum { READ_LOCAL_VERSION = 0x1001, WRITE_PCM_PARAMETERS = 0xfc1c, READ_PCM_PARAMETERS = 0xfc1d };
enum { PARAMETERS = 5, TO_HOST = 1 };
// Company identifiers.
enum { BROADCOM = 15, CYPRESS = 305 };
enum { UNKNOWN_COMMAND = 0x01 };

static const char *name(uint8_t routing)
{
    static const char *const names[] = { "the PCM pins", "the host", "the chip's own codec", "the I2S pins" };
    return routing < sizeof names / sizeof names[0] ? names[routing] : "an unknown place";
}

int sco_routing_open(const char *controller, char *text, size_t size)
{
    char *end = NULL;
    unsigned long number = 0;
    if (strncmp(controller, "hci", 3) == 0 && controller[3] >= '0' && controller[3] <= '9')
        number = strtoul(controller + 3, &end, 10);
    // 0xffff means no controller to the kernel.
    if (end == NULL || *end != '\0' || number >= 0xffff) {
        snprintf(text, size, "'%.32s' is not a controller: hci0, hci1, ... (see `bluetoothctl list`)", controller);
        errno = EINVAL;
        return -1;
    }
    int descriptor = socket(AF_BLUETOOTH, SOCK_RAW | SOCK_CLOEXEC, PROTOCOL_HCI);
    if (descriptor < 0) {
        snprintf(text, size, "no HCI socket: %s%s", strerror(errno),
            errno == EAFNOSUPPORT ? "; the kernel has no Bluetooth, or the service may not have AF_BLUETOOTH" : "");
        return -1;
    }
    const struct filter filter = {
        .types = 1u << EVENT_PACKET, .events = { 1u << COMMAND_COMPLETE | 1u << COMMAND_STATUS, 0 }, .opcode = 0
    };
    const struct address address = { AF_BLUETOOTH, (uint16_t)number, CHANNEL_RAW };
    if (setsockopt(descriptor, SOCKET_LEVEL_HCI, OPTION_FILTER, &filter, sizeof filter) == 0
        && bind(descriptor, (const struct sockaddr *)&address, sizeof address) == 0)
        return descriptor;
    int code = errno;
    snprintf(text, size, code == ENODEV ? "there is no controller %s" : "%s cannot be used: %s", controller, strerror(code));
    close(descriptor);
    errno = code;
    return -1;
}

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct answer {
    // 0 is success.
    uint8_t status;
    // The parameters after the status.
    uint8_t bytes[255];
    size_t count;
};

// Whether a packet is the answer to a command.
static int is_answer(const uint8_t *packet, size_t count, uint16_t opcode, struct answer *answer)
{
    if (count < 3 || packet[0] != EVENT_PACKET || count != (size_t)packet[2] + 3)
        return 0;
    const uint8_t *parameters = packet + 3;
    size_t length = packet[2];
    // Number of commands, command, status, return parameters.
    if (packet[1] == COMMAND_COMPLETE && length >= 4 && (parameters[1] | parameters[2] << 8) == opcode) {
        answer->status = parameters[3];
        answer->count = length - 4;
        memcpy(answer->bytes, parameters + 4, answer->count);
        return 1;
    }
    // Status, number of commands, command: it was refused, or its completion will follow.
    if (packet[1] == COMMAND_STATUS && length == 4 && parameters[0] != 0 && (parameters[2] | parameters[3] << 8) == opcode) {
        answer->status = parameters[0];
        answer->count = 0;
        return 1;
    }
    return 0;
}

// Returns 0 or an error number; ETIMEDOUT when no answer comes.
static int ask(int socket, uint16_t opcode, const uint8_t *parameters, uint8_t count, int timeout, struct answer *answer)
{
    uint8_t command[4 + PARAMETERS] = { COMMAND_PACKET, (uint8_t)opcode, (uint8_t)(opcode >> 8), count };
    if (count > 0)
        memcpy(command + 4, parameters, count);
    ssize_t sent;
    while ((sent = send(socket, command, 4 + (size_t)count, MSG_NOSIGNAL)) < 0 && errno == EINTR) { }
    if (sent < 0)
        return errno;
    const int64_t end = milliseconds() + timeout;
    while (1) {
        int64_t left = end - milliseconds();
        // Unrelated events may arrive without end.
        if (left <= 0)
            return ETIMEDOUT;
        struct pollfd ready = { .fd = socket, .events = POLLIN };
        int result = poll(&ready, 1, (int)left);
        if (result == 0)
            return ETIMEDOUT;
        if (result < 0 && errno != EINTR)
            return errno;
        if (result < 0)
            continue;
        uint8_t packet[260];
        ssize_t received = recv(socket, packet, sizeof packet, 0);
        if (received < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
        if (received == 0)
            return ENODEV;
        if (received > 0 && is_answer(packet, (size_t)received, opcode, answer))
            return 0;
    }
}

static enum sco_routing_outcome failed(int code, const char *what, char *text, size_t size)
{
    if (code == EPERM || code == EACCES) {
        snprintf(text, size, "not permitted: `systemctl enable --now btcall-sco-routing.socket`, or run it as root");
        return SCO_ROUTING_NOT_PERMITTED;
    }
    const char *advice = "";
    if (code == ENETDOWN)
        advice = ": the controller is off (`bluetoothctl power on`)";
    else if (code == ETIMEDOUT)
        advice = ": the controller does not answer";
    else if (code == ENODEV)
        advice = ": the controller is gone";
    snprintf(text, size, "%s: %s%s", what, strerror(code), advice);
    return SCO_ROUTING_FAILED;
}

static enum sco_routing_outcome refused(uint8_t status, const char *what, char *text, size_t size)
{
    snprintf(text, size, "%s: the controller refuses it with HCI status 0x%02x%s", what, status,
        status == UNKNOWN_COMMAND ? ", as a command that it does not know: set it in its firmware or the devicetree" : "");
    return SCO_ROUTING_FAILED;
}

enum sco_routing_outcome sco_routing_to_host(int socket, int timeout, char *text, size_t size)
{
    struct answer answer;
    int code = ask(socket, READ_LOCAL_VERSION, NULL, 0, timeout, &answer);
    if (code != 0)
        return failed(code, "its maker cannot be read", text, size);
    if (answer.status != 0)
        return refused(answer.status, "its maker cannot be read", text, size);
    if (answer.count != 8) {
        snprintf(text, size, "its maker cannot be read: %zu bytes in place of 8", answer.count);
        return SCO_ROUTING_FAILED;
    }
    const int maker = answer.bytes[4] | answer.bytes[5] << 8;
    if (maker != BROADCOM && maker != CYPRESS) {
        snprintf(text, size,
            "a controller of company %d, neither Broadcom (15) nor Cypress (305): where it sends voice is set in its firmware "
            "or the devicetree",
            maker);
        return SCO_ROUTING_OTHER_MAKER;
    }
    // The first round reads and, if voice does not go to the host, writes; the second reads back.
    uint8_t before = 0;
    for (int round = 0; round < 2; round++) {
        const char *what = "where voice goes cannot be read";
        code = ask(socket, READ_PCM_PARAMETERS, NULL, 0, timeout, &answer);
        if (code != 0)
            return failed(code, what, text, size);
        if (answer.status != 0)
            return refused(answer.status, what, text, size);
        if (answer.count != PARAMETERS) {
            snprintf(text, size, "%s: %zu bytes in place of %d", what, answer.count, PARAMETERS);
            return SCO_ROUTING_FAILED;
        }
        const uint8_t present = answer.bytes[0];
        if (present == TO_HOST && round == 0) {
            snprintf(text, size, "voice goes to the host already");
            return SCO_ROUTING_FOUND;
        }
        if (present == TO_HOST) {
            snprintf(text, size, "voice went to %s and goes to the host now", name(before));
            return SCO_ROUTING_CHANGED;
        }
        if (round > 0)
            break;
        before = present;
        uint8_t parameters[PARAMETERS];
        memcpy(parameters, answer.bytes, PARAMETERS);
        parameters[0] = TO_HOST;
        what = "where voice goes cannot be changed";
        code = ask(socket, WRITE_PCM_PARAMETERS, parameters, PARAMETERS, timeout, &answer);
        if (code != 0)
            return failed(code, what, text, size);
        if (answer.status != 0)
            return refused(answer.status, what, text, size);
    }
    snprintf(text, size, "voice still goes to %s: the controller has taken the change and not made it", name(before));
    return SCO_ROUTING_FAILED;
}
