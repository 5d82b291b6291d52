#define _GNU_SOURCE
#include "include/board.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <linux/input.h>
#include <string.h>
#include <sys/ioctl.h>

size_t btcall_input_event_bytes(void)
{
    return sizeof(struct input_event);
}

size_t btcall_line_event_bytes(void)
{
    return sizeof(struct gpio_v2_line_event);
}

static int control(int descriptor, unsigned long request, void *argument)
{
    int result;
    do
        result = ioctl(descriptor, request, argument);
    while (result < 0 && errno == EINTR);
    return result;
}

int btcall_input_state(int descriptor, int switches, uint8_t *bits, size_t capacity)
{
    return control(descriptor, switches ? EVIOCGSW(capacity) : EVIOCGKEY(capacity), bits);
}

static int select_codes(int descriptor, uint32_t type, const uint8_t *codes, size_t bytes)
{
    struct input_mask mask = { .type = type, .codes_size = (uint32_t)bytes, .codes_ptr = (uintptr_t)codes };
    return control(descriptor, EVIOCSMASK, &mask);
}

int btcall_input_select(int descriptor, const uint8_t *keys, const uint8_t *switches, size_t bytes)
{
    // EV_SYN's mask is that of the types: SYN_REPORT is never filtered out.
    uint8_t types[(EV_CNT + 7) / 8] = { 0 };
    types[EV_SYN / 8] |= 1 << EV_SYN % 8;
    types[EV_KEY / 8] |= 1 << EV_KEY % 8;
    types[EV_SW / 8] |= 1 << EV_SW % 8;
    if (select_codes(descriptor, EV_KEY, keys, bytes) < 0 || select_codes(descriptor, EV_SW, switches, bytes) < 0)
        return -1;
    return select_codes(descriptor, EV_SYN, types, sizeof types);
}

int btcall_gpio_chip(int chip, char label[32], uint32_t *lines)
{
    struct gpiochip_info info;
    memset(&info, 0, sizeof info);
    if (control(chip, GPIO_GET_CHIPINFO_IOCTL, &info) < 0)
        return -1;
    memcpy(label, info.label, 32);
    label[31] = 0;
    *lines = info.lines;
    return 0;
}

int btcall_gpio_watch(int chip, uint32_t line, int options, uint32_t debounce, const char *consumer)
{
    struct gpio_v2_line_request request;
    memset(&request, 0, sizeof request);
    request.offsets[0] = line;
    request.num_lines = 1;
    strncpy(request.consumer, consumer, sizeof request.consumer - 1);
    request.config.flags = GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING;
    if (options & BTCALL_GPIO_ACTIVE_LOW)
        request.config.flags |= GPIO_V2_LINE_FLAG_ACTIVE_LOW;
    if (options & BTCALL_GPIO_PULL_UP)
        request.config.flags |= GPIO_V2_LINE_FLAG_BIAS_PULL_UP;
    if (options & BTCALL_GPIO_PULL_DOWN)
        request.config.flags |= GPIO_V2_LINE_FLAG_BIAS_PULL_DOWN;
    if (options & BTCALL_GPIO_NO_BIAS)
        request.config.flags |= GPIO_V2_LINE_FLAG_BIAS_DISABLED;
    if (debounce > 0) {
        request.config.num_attrs = 1;
        request.config.attrs[0].mask = 1;
        request.config.attrs[0].attr.id = GPIO_V2_LINE_ATTR_ID_DEBOUNCE;
        request.config.attrs[0].attr.debounce_period_us = debounce;
    }
    if (control(chip, GPIO_V2_GET_LINE_IOCTL, &request) < 0)
        return -1;
    // The kernel opens it close-on-exec, but blocking.
    int flags = fcntl(request.fd, F_GETFL);
    if (flags >= 0)
        fcntl(request.fd, F_SETFL, flags | O_NONBLOCK);
    return request.fd;
}

int btcall_gpio_value(int line)
{
    struct gpio_v2_line_values values = { .mask = 1 };
    if (control(line, GPIO_V2_LINE_GET_VALUES_IOCTL, &values) < 0)
        return -1;
    return values.bits & 1;
}

int btcall_gpio_output(int chip, uint32_t line, int options, const char *consumer)
{
    struct gpio_v2_line_request request;
    memset(&request, 0, sizeof request);
    request.offsets[0] = line;
    request.num_lines = 1;
    strncpy(request.consumer, consumer, sizeof request.consumer - 1);
    // Without a value the line starts inactive.
    request.config.flags = GPIO_V2_LINE_FLAG_OUTPUT;
    if (options & BTCALL_GPIO_ACTIVE_LOW)
        request.config.flags |= GPIO_V2_LINE_FLAG_ACTIVE_LOW;
    if (control(chip, GPIO_V2_GET_LINE_IOCTL, &request) < 0)
        return -1;
    return request.fd;
}

int btcall_gpio_set(int line, int active)
{
    struct gpio_v2_line_values values = { .bits = active ? 1 : 0, .mask = 1 };
    return control(line, GPIO_V2_LINE_SET_VALUES_IOCTL, &values) < 0 ? -1 : 0;
}
