/* CUDA_VISIBLE_DEVICES, as CUDA has it: a list of numbers, or of UUIDs (GPU-…, or their beginnings), which says which of
 * the lease's GPUs the program sees, and in which order. What is no GPU ends the list; one that is named twice leaves
 * none. A number may have anything behind it, as strtoul reads it. */
#include "shoal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define UUID_TEXT 41 /* GPU-, 32 digits in five groups, and the end */

static void write_uuid(const uint8_t *uuid, char *text) {
    int at = sprintf(text, "GPU-");
    for (int i = 0; i < 16; i++)
        at += sprintf(text + at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

/* The one GPU whose UUID begins so, or -1. */
static int by_uuid(const char *word) {
    int found = -1;
    for (int i = 0; i < shoal_device_count; i++) {
        char text[UUID_TEXT];
        write_uuid(shoal_devices[i].uuid, text);
        if (!strncasecmp(text, word, strlen(word)))
            found = found < 0 ? i : shoal_device_count;
    }
    return found < shoal_device_count ? found : -1;
}

static int by_number(const char *word) {
    char *end;
    long number = strtol(word, &end, 10);
    return end != word && number >= 0 && number < shoal_device_count ? (int)number : -1;
}

/* Leave those that the program is to see. */
CUresult shoal_choose_visible(void) {
    const char *told = getenv("CUDA_VISIBLE_DEVICES");
    struct device chosen[MAX_DEVICES];
    int count = 0, seen[MAX_DEVICES] = {0};
    if (!told)
        return SUCCESS;
    char *words = strdup(told), *rest = words, *word;
    if (!words)
        return OUT_OF_MEMORY;
    while ((word = strsep(&rest, ","))) {
        while (isspace((unsigned char)*word))
            word++;
        for (char *end = word + strlen(word); end > word && isspace((unsigned char)end[-1]);)
            *--end = 0;
        int which = strncasecmp(word, "GPU-", 4) ? by_number(word) : by_uuid(word);
        if (which < 0)
            break;
        if (seen[which]++) {
            count = 0;
            break;
        }
        chosen[count++] = shoal_devices[which];
    }
    free(words);
    memcpy(shoal_devices, chosen, (size_t)count * sizeof *chosen);
    shoal_device_count = count;
    return count ? SUCCESS : NO_DEVICE;
}
