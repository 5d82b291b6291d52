// btcall-sco-routing hci0: makes a Broadcom or Cypress controller send voice to the host. Needs CAP_NET_RAW; without it, it
// asks its instance started by systemd (dbus/btcall-sco-routing.socket).
//
// It prints one line with the result on standard output, or with the error on standard error. Exit status: 0 voice goes to
// the host, 1 failure, 2 usage, 3 another maker's controller.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sco_routing.h"

enum { ANSWER_MILLISECONDS = 2000, LINE = 320 };
static const char SERVICE[] = "/run/btcall-sco-routing.sock";

static int status(enum sco_routing_outcome outcome)
{
    switch (outcome) {
    case SCO_ROUTING_FOUND:
    case SCO_ROUTING_CHANGED:
        return 0;
    case SCO_ROUTING_OTHER_MAKER:
        return 3;
    case SCO_ROUTING_NOT_PERMITTED:
    case SCO_ROUTING_FAILED:
        return 1;
    }
    return 1;
}

static enum sco_routing_outcome route(const char *controller, char *text, size_t size)
{
    int socket = sco_routing_open(controller, text, size);
    if (socket < 0)
        return errno == EPERM ? SCO_ROUTING_NOT_PERMITTED : SCO_ROUTING_FAILED;
    enum sco_routing_outcome outcome = sco_routing_to_host(socket, ANSWER_MILLISECONDS, text, size);
    close(socket);
    return outcome;
}

// Reads one line from a stream, without its newline. -1: none arrived in time.
static int read_line(int stream, char *line, size_t size)
{
    size_t count = 0;
    while (count < size - 1) {
        struct pollfd ready = { .fd = stream, .events = POLLIN };
        int result = poll(&ready, 1, 4 * ANSWER_MILLISECONDS);
        if (result < 0 && errno == EINTR)
            continue;
        if (result <= 0)
            return -1;
        ssize_t received = read(stream, line + count, 1);
        if (received < 0 && errno == EINTR)
            continue;
        if (received <= 0)
            return -1;
        if (line[count] == '\n') {
            line[count] = '\0';
            return 0;
        }
        count++;
    }
    return -1;
}

// Makes the requested name safe for the journal: it may contain anything.
static void clean(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

// Standard input and output are a socket: reads a line with the controller, writes the exit status and a line.
static int serve(void)
{
    char controller[32], text[LINE];
    if (read_line(STDIN_FILENO, controller, sizeof controller) != 0) {
        fprintf(stderr, "btcall-sco-routing: no controller was asked for\n");
        return 1;
    }
    clean(controller);
    enum sco_routing_outcome outcome = route(controller, text, sizeof text);
    printf("%d %s\n", status(outcome), text);
    fprintf(stderr, "%s: %s\n", controller, text);
    return status(outcome);
}

// Returns the service's exit status, with its line in `text`; -1: there is no service.
static int ask_service(const char *controller, char *text, size_t size)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memcpy(address.sun_path, SERVICE, sizeof SERVICE);
    int stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (stream < 0)
        return -1;
    int result = -1;
    char line[LINE];
    if (connect(stream, (const struct sockaddr *)&address, sizeof address) == 0) {
        int length = snprintf(line, sizeof line, "%.24s\n", controller);
        if (send(stream, line, (size_t)length, MSG_NOSIGNAL) == length && read_line(stream, line, sizeof line) == 0
            && line[0] >= '0' && line[0] <= '9' && line[1] == ' ') {
            result = line[0] - '0';
            snprintf(text, size, "%s", line + 2);
        } else {
            result = 1;
            snprintf(text, size, "btcall-sco-routing.socket does not answer: `journalctl -u 'btcall-sco-routing@*'`");
        }
    }
    close(stream);
    return result;
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "--serve") == 0)
        return serve();
    if (count != 2 || words[1][0] == '-') {
        fprintf(stderr, "usage: btcall-sco-routing hci0\n");
        return 2;
    }
    char text[LINE];
    enum sco_routing_outcome outcome = route(words[1], text, sizeof text);
    int result = status(outcome);
    if (outcome == SCO_ROUTING_NOT_PERMITTED) {
        int answer = ask_service(words[1], text, sizeof text);
        if (answer >= 0)
            result = answer;
    }
    fprintf(result == 0 ? stdout : stderr, "%s: %s\n", words[1], text);
    return result;
}
