/* What a reply holds, field by field, never beyond its end. */
#include "shoal.h"

#include <stdlib.h>
#include <string.h>

const uint8_t *get_bytes(struct reader *reader, size_t count) {
    static const uint8_t zeros[16];
    if ((size_t)(reader->end - reader->at) < count) {
        reader->short_of = 1;
        reader->at = reader->end;
        return count <= sizeof zeros ? zeros : NULL;
    }
    const uint8_t *found = reader->at;
    reader->at += count;
    return found;
}

uint32_t get_u16(struct reader *reader) {
    const uint8_t *b = get_bytes(reader, 2);
    return b[0] | (uint32_t)b[1] << 8;
}

uint32_t get_u32(struct reader *reader) {
    const uint8_t *b = get_bytes(reader, 4);
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint64_t get_u64(struct reader *reader) {
    uint64_t low = get_u32(reader);
    return low | (uint64_t)get_u32(reader) << 32;
}

/* Text with its length before it, to be freed. */
char *get_text(struct reader *reader) {
    size_t length = get_u16(reader);
    const uint8_t *found = get_bytes(reader, length);
    char *text = malloc(length + 1);
    if (!text || !found)
        reader->short_of = 1;
    if (!text)
        return NULL;
    if (!found || reader->short_of)
        length = 0;
    else
        memcpy(text, found, length);
    text[length] = 0;
    return text;
}

/* Pairs of numbers with their count before them, to be freed. */
struct attribute *get_attributes(struct reader *reader, uint32_t *count) {
    *count = get_u32(reader);
    if (*count > (size_t)(reader->end - reader->at) / 8) {
        reader->short_of = 1;
        *count = 0;
    }
    struct attribute *found = calloc(*count + 1, sizeof *found);
    if (!found) {
        reader->short_of = 1;
        *count = 0;
    }
    for (uint32_t i = 0; i < *count; i++) {
        found[i].number = (int32_t)get_u32(reader);
        found[i].value = (int32_t)get_u32(reader);
    }
    return found;
}
