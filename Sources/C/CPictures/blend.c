#include "pictures.h"

// Luma of a mask from which a pixel is in front, and up to which it is behind. Shadows have 127 (cv::BackgroundSubtractorMOG2).
enum { BEHIND = 140, IN_FRONT = 200 };

// Most pixels of a side of the small picture that a blurred one is made of.
enum { BLUR_ROWS = 16, MOST_BLUR_COLUMNS = 64 };

static uint32_t half(uint32_t side)
{
    return (side + 1) / 2;
}

// 0 to 256.
static unsigned share(uint8_t luma)
{
    if (luma <= BEHIND)
        return 0;
    if (luma >= IN_FRONT)
        return 256;
    return (unsigned)(luma - BEHIND) * 256 / (IN_FRONT - BEHIND);
}

static uint8_t mix(uint8_t front, uint8_t behind, unsigned share)
{
    return (uint8_t)((front * share + behind * (256 - share)) >> 8);
}

struct btcall_picture *btcall_picture_blend(
    const struct btcall_picture *picture, const struct btcall_picture *mask, const struct btcall_picture *behind)
{
    uint32_t width = picture->width, height = picture->height;
    if (mask->width != width || mask->height != height || behind->width != width || behind->height != height)
        return NULL;
    uint8_t *target;
    struct btcall_picture *result = btcall_picture_make(width, height, &target);
    if (!result)
        return NULL;
    const uint8_t *front = picture->bytes, *back = behind->bytes, *bright = mask->bytes;
    size_t luma = (size_t)width * height;
    for (size_t index = 0; index < luma; index++)
        target[index] = mix(front[index], back[index], share(bright[index]));
    size_t chroma = (size_t)half(width) * half(height);
    for (uint32_t row = 0; row < half(height); row++) {
        const uint8_t *line = bright + (size_t)row * 2 * width;
        size_t start = luma + (size_t)row * half(width);
        for (uint32_t column = 0; column < half(width); column++) {
            unsigned part = share(line[2 * column]);
            size_t blue = start + column, red = blue + chroma;
            target[blue] = mix(front[blue], back[blue], part);
            target[red] = mix(front[red], back[red], part);
        }
    }
    return result;
}

// Mean values of a plane's parts.
static void shrink(
    uint8_t *small, uint32_t columns, uint32_t rows, const uint8_t *plane, uint32_t width, uint32_t height)
{
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++) {
            uint32_t top = row * height / rows, bottom = (row + 1) * height / rows;
            uint32_t left = column * width / columns, right = (column + 1) * width / columns;
            uint64_t sum = 0;
            for (uint32_t y = top; y < bottom; y++)
                for (uint32_t x = left; x < right; x++)
                    sum += plane[(size_t)y * width + x];
            small[row * columns + column] = (uint8_t)(sum / ((uint64_t)(bottom - top) * (right - left)));
        }
}

// Places of pixels between `count` values: in 256ths of a value, with 16 more bits.
struct places {
    int64_t next, step;
    uint32_t count;
};

struct place {
    uint32_t first, second;
    unsigned part;
};

static struct places places(uint32_t length, uint32_t count)
{
    int64_t step = ((int64_t)count << 24) / length;
    // The middle of the first pixel, less the middle of the first value.
    return (struct places) { step / 2 - (128 << 16), step, count };
}

static struct place next(struct places *places)
{
    int64_t place = places->next < 0 ? 0 : places->next >> 16;
    places->next += places->step;
    uint32_t first = (uint32_t)(place >> 8);
    if (first + 1 >= places->count)
        return (struct place) { places->count - 1, places->count - 1, 0 };
    return (struct place) { first, first + 1, (unsigned)(place & 255) };
}

static void enlarge(
    uint8_t *plane, uint32_t width, uint32_t height, const uint8_t *small, uint32_t columns, uint32_t rows)
{
    struct places down = places(height, rows);
    for (uint32_t y = 0; y < height; y++) {
        struct place row = next(&down);
        uint8_t line[MOST_BLUR_COLUMNS];
        for (uint32_t column = 0; column < columns; column++)
            line[column] = mix(small[row.second * columns + column], small[row.first * columns + column], row.part);
        struct places across = places(width, columns);
        for (uint32_t x = 0; x < width; x++) {
            struct place column = next(&across);
            plane[(size_t)y * width + x] = mix(line[column.second], line[column.first], column.part);
        }
    }
}

static void blur(uint8_t *target, const uint8_t *source, uint32_t width, uint32_t height, uint32_t columns, uint32_t rows)
{
    uint8_t small[BLUR_ROWS * MOST_BLUR_COLUMNS];
    // Each part has at least one pixel.
    columns = columns < width ? columns : width;
    rows = rows < height ? rows : height;
    shrink(small, columns, rows, source, width, height);
    enlarge(target, width, height, small, columns, rows);
}

struct btcall_picture *btcall_picture_blur(const struct btcall_picture *picture)
{
    uint32_t width = picture->width, height = picture->height;
    uint8_t *target;
    struct btcall_picture *result = btcall_picture_make(width, height, &target);
    if (!result)
        return NULL;
    uint64_t columns = (uint64_t)BLUR_ROWS * width / height;
    if (columns == 0)
        columns = 1;
    if (columns > MOST_BLUR_COLUMNS)
        columns = MOST_BLUR_COLUMNS;
    const uint8_t *source = picture->bytes;
    size_t luma = (size_t)width * height, chroma = (size_t)half(width) * half(height);
    blur(target, source, width, height, (uint32_t)columns, BLUR_ROWS);
    blur(target + luma, source + luma, half(width), half(height), (uint32_t)columns, BLUR_ROWS);
    blur(target + luma + chroma, source + luma + chroma, half(width), half(height), (uint32_t)columns, BLUR_ROWS);
    return result;
}
