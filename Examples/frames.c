// A picture of a call as YUV4MPEG2: gcc frames.c -o frames $(pkg-config --cflags --libs libsystemd); ./frames / local | mpv -
// CALL is / (the camera without a call) or the call's object path, SIDE is local or remote. dbus/org.btcall.Video1.md describes
// the memory.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

static uint64_t number(const unsigned char *at, int bytes) {
    return bytes ? *at | number(at + 1, bytes - 1) << 8 : 0;
}
static int show(int memory, int wakeup) {
    struct stat found;
    if (fstat(memory, &found) < 0 || found.st_size < 4096) return -1;
    uint64_t size = found.st_size, last = 0;
    const unsigned char *ring = mmap(NULL, size, PROT_READ, MAP_SHARED, memory, 0);
    if (ring == MAP_FAILED || memcmp(ring, "BTVR\1\0\0\0", 8) || memcmp(ring + 16, "I420", 4)) return -1;
    uint64_t width = number(ring + 8, 4), height = number(ring + 12, 4), slots = number(ring + 20, 4);
    uint64_t w[] = { width, (width + 1) / 2, (width + 1) / 2 }, h[] = { height, (height + 1) / 2, (height + 1) / 2 };
    uint64_t stride[3], plane[3], bytes = number(ring + 64, 8), first = number(ring + 72, 8);
    if (!slots || first > size || bytes < 64 || bytes > (size - first) / slots) return -1;
    for (int i = 0; i < 3; i++) {
        stride[i] = number(ring + 32 + 4 * i, 4);
        plane[i] = number(ring + 48 + 4 * i, 4);
        if (stride[i] < w[i] || plane[i] + stride[i] * h[i] > bytes) return -1;
    }
    printf("YUV4MPEG2 W%d H%d F%d:1000 C420jpeg\n", (int)width, (int)height, (int)number(ring + 24, 4));
    unsigned char *copy = malloc(bytes);
    for (char byte; copy && read(wakeup, &byte, 1) == 1;) {
        uint64_t n = __atomic_load_n((const uint64_t *)(ring + 128), __ATOMIC_ACQUIRE);
        const unsigned char *slot = ring + first + (n - 1) % slots * bytes;
        if (n <= last || __atomic_load_n((const uint64_t *)slot, __ATOMIC_ACQUIRE) != 2 * n) continue;
        memcpy(copy, slot, bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n((const uint64_t *)slot, __ATOMIC_RELAXED) != 2 * n) continue;  // overwritten meanwhile
        last = n;
        printf("FRAME\n");
        for (int i = 0; i < 3; i++)
            for (uint64_t row = 0; row < h[i]; row++) fwrite(copy + plane[i] + row * stride[i], 1, w[i], stdout);
        if (fflush(stdout)) return 0;
    }
    return 0;
}
int main(int count, char **words) {
    sd_bus *bus = NULL;
    sd_bus_message *answer = NULL;
    sd_bus_error error = SD_BUS_ERROR_NULL;
    uint32_t tap;
    int memory, wakeup;
    if (count != 3 || sd_bus_open_system(&bus) < 0
        || sd_bus_call_method(bus, "org.btcall.Video", "/org/btcall/video", "org.btcall.Video1", "OpenTap", &error, &answer, "os",
            words[1], words[2]) < 0
        || sd_bus_message_read(answer, "uhh", &tap, &memory, &wakeup) < 0)
        return fprintf(stderr, "%s\n", error.message ? error.message : "usage: frames CALL SIDE"), 1;
    return show(memory, wakeup) < 0 ? fprintf(stderr, "not a ring of frames\n"), 1 : 0;
}
