// A stream's ring, ours or the daemon's, and the connection to the daemon.
#define _GNU_SOURCE
#include "pcm_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAXIMUM_MAPPING (1u << 24)

// MARK: The ring

void stream_publish_application(struct stream *stream)
{
    __atomic_store_n(&stream->ring->application, stream->application, __ATOMIC_SEQ_CST);
}

void stream_copy(struct stream *stream, uint64_t position, uint8_t *program, uint64_t frames, bool into_ring)
{
    const unsigned size = stream->frame_bytes;
    while (frames > 0) {
        uint64_t index = position % stream->ring_frames;
        uint64_t part = stream->ring_frames - index;
        if (part > frames)
            part = frames;
        uint8_t *place = stream->samples + index * size;
        if (program == NULL)
            memset(place, 0, part * size);
        else if (into_ring)
            memcpy(place, program, part * size);
        else
            memcpy(program, place, part * size);
        if (program != NULL)
            program += part * size;
        position += part;
        frames -= part;
    }
}

void stream_follow_application(struct stream *stream)
{
    const snd_pcm_uframes_t pointer = stream->io.appl_ptr, boundary = stream->boundary;
    if (pointer == stream->application_pointer)
        return;
    snd_pcm_uframes_t step = pointer >= stream->application_pointer
        ? pointer - stream->application_pointer
        : pointer + (boundary - stream->application_pointer);
    if (step > boundary / 2)
        stream->application -= boundary - step;
    else
        stream->application += step;
    stream->application_pointer = pointer;
    stream_publish_application(stream);
}

// MARK: The connection

void stream_hang_up(struct stream *stream, int64_t retry)
{
    btcall_close_watched(stream->set, &stream->socket);
    btcall_close_watched(stream->set, &stream->wakeup);
    if (stream->mapping != NULL)
        munmap(stream->mapping, stream->mapped);
    stream->mapping = NULL;
    stream->connection = AWAY;
    stream->deadline = btcall_now() + retry;
}

void stream_lose(struct stream *stream, int64_t retry)
{
    if (stream->connection == CONNECTED) {
        memcpy(stream->own_samples, stream->samples, (size_t)stream->ring_frames * stream->frame_bytes);
        memset(&stream->own_ring, 0, sizeof stream->own_ring);
        stream->own_ring.hardware = stream->hardware;
        stream->own_ring.application = stream->application;
        stream->ring = &stream->own_ring;
        stream->samples = stream->own_samples;
        stream->engagement = 0;
    }
    stream_hang_up(stream, retry);
}

void stream_tell(struct stream *stream, uint32_t kind)
{
    if (stream->connection == CONNECTED && stream->owner == getpid()
        && btcall_send_message(stream->socket, kind, 0, 0) < 0)
        stream_lose(stream, RETRY);
}

void stream_greet(struct stream *stream)
{
    stream->socket = btcall_connect(stream->path, &stream->hello);
    if (stream->socket < 0) {
        if (!stream->told)
            stream->told = btcall_explain(stream->path, stream->socket);
        stream_hang_up(stream, RETRY);
    } else if (btcall_watch(stream->set, stream->socket) < 0) {
        stream_hang_up(stream, RETRY);
    } else {
        stream->connection = GREETING;
        stream->deadline = btcall_now() + ANSWER_TIMEOUT;
    }
}

/// Maps the daemon's ring. It must not be able to shrink, as that would raise SIGBUS.
static bool map(struct stream *stream, const struct btcall_pcm_answer *answer, int memory)
{
    const uint64_t samples = (uint64_t)stream->ring_frames * stream->frame_bytes;
    struct stat status;
    int seals = fcntl(memory, F_GET_SEALS);
    if (answer->samples_offset < sizeof(struct btcall_pcm_ring) || answer->samples_offset % 8 != 0
        || answer->samples_offset + samples > answer->bytes || answer->bytes > MAXIMUM_MAPPING
        || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(memory, &status) < 0
        || status.st_size < (off_t)answer->bytes)
        return false;
    void *mapping = mmap(NULL, answer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (mapping == MAP_FAILED)
        return false;
    stream->mapping = mapping;
    stream->mapped = answer->bytes;
    return true;
}

static void adopt(struct stream *stream, const struct btcall_pcm_answer *answer, const int descriptors[2])
{
    stream->wakeup = descriptors[1];
    const char *problem = NULL;
    if (answer->error != 0)
        problem = answer->reason[0] != '\0' ? answer->reason : snd_strerror(answer->error < 0 ? -EPROTO : -answer->error);
    else if (descriptors[0] < 0 || descriptors[1] < 0 || !map(stream, answer, descriptors[0])
        || fcntl(stream->wakeup, F_SETFL, O_NONBLOCK) < 0 || btcall_watch(stream->set, stream->wakeup) < 0)
        problem = "its answer makes no sense; are daemon and plug-in of the same version?";
    if (descriptors[0] >= 0)
        close(descriptors[0]);
    if (problem != NULL) {
        if (!stream->told)
            SNDERR("btcall: the daemon at %s refuses this stream: %s", stream->path, problem);
        stream->told = true;
        stream_hang_up(stream, RETRY_REFUSED);
        return;
    }
    stream->ring = stream->mapping;
    stream->samples = (uint8_t *)stream->mapping + answer->samples_offset;
    memcpy(stream->samples, stream->own_samples, (size_t)stream->ring_frames * stream->frame_bytes);
    __atomic_store_n(&stream->ring->hardware, stream->hardware, __ATOMIC_SEQ_CST);
    stream_publish_application(stream);
    stream->connection = CONNECTED;
    stream->engagement = 0;
    if (stream->running)
        stream_tell(stream, BTCALL_PCM_START);
}

bool stream_look(struct stream *stream, int64_t now)
{
    stream->looked = now;
    if (stream->connection == AWAY) {
        if (now >= stream->deadline)
            stream_greet(stream);
    }
    if (stream->connection == GREETING) {
        struct btcall_pcm_answer answer;
        int descriptors[2];
        int result = btcall_receive_answer(stream->socket, &answer, descriptors);
        if (result > 0) {
            adopt(stream, &answer, descriptors);
        } else if (result == -EPROTO) {
            if (!stream->told)
                SNDERR("btcall: %s is not answered by a btcall daemon of this version", stream->path);
            stream->told = true;
            stream_hang_up(stream, RETRY_REFUSED);
        } else if (result < 0 || now >= stream->deadline) {
            stream_hang_up(stream, RETRY);
        }
        return true;
    }
    // The daemon sends nothing here; messages of a later version are read and ignored.
    struct btcall_pcm_message message;
    int result = 1;
    for (int count = 0; stream->connection == CONNECTED && result > 0 && count < 16; count++)
        result = btcall_receive_message(stream->socket, &message);
    return result >= 0;
}
