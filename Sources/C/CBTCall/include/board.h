// ioctls of the kernel's input and GPIO devices that Swift cannot express. All functions return -1 and set errno on failure
// unless they say otherwise. None of them is for the real-time thread.
#ifndef BTCALL_BOARD_H
#define BTCALL_BOARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Room for the state of every input code: one bit for each of KEY_CNT, least significant bit first.
#define BTCALL_INPUT_BYTES 96

// Sizes of the records that such a descriptor delivers; a read returns a whole number of them.
size_t btcall_input_event_bytes(void);
size_t btcall_line_event_bytes(void);

// Reads which keys (`switches` 0) or switches (1) are on. Returns how many bytes of `bits` were written.
int btcall_input_state(int descriptor, int switches, uint8_t *bits, size_t capacity);

// Makes the kernel queue only these keys and switches, so that no others wake this process or are seen by it. Needs Linux
// 4.4; a failure has no other effect.
int btcall_input_select(int descriptor, const uint8_t *keys, const uint8_t *switches, size_t bytes);

// The label of a GPIO chip (32 bytes, ended by 0) and its number of lines.
int btcall_gpio_chip(int chip, char label[32], uint32_t *lines);

// Opens a descriptor that reports every change of an input line, debounced for so many microseconds.
enum {
    BTCALL_GPIO_ACTIVE_LOW = 1,
    BTCALL_GPIO_PULL_UP = 2,
    BTCALL_GPIO_PULL_DOWN = 4,
    BTCALL_GPIO_NO_BIAS = 8,
};
int btcall_gpio_watch(int chip, uint32_t line, int options, uint32_t debounce, const char *consumer);

// 1 when the line is active, 0 when it is not.
int btcall_gpio_value(int line);

// Opens a descriptor of an output line, inactive at first; the only relevant option is BTCALL_GPIO_ACTIVE_LOW.
int btcall_gpio_output(int chip, uint32_t line, int options, const char *consumer);

// Makes an output line active (1) or inactive (0). Returns 0, or -1 with errno.
int btcall_gpio_set(int line, int active);

#ifdef __cplusplus
}
#endif

#endif
