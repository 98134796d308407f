/* Handles that the program holds: numbers of a table, none of which is used twice. A program that hands over a handle
 * that is none, or of another kind, or of what is gone, is told so; nothing it says is followed as a pointer. */
#include "shoal.h"

#include <stdlib.h>

#define FIRST ((uintptr_t)1 << 20)
#define STEP 16

static struct entry {
    enum kind kind;
    void *object;
} *entries;
static size_t used, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *shoal_new_handle(enum kind kind, void *object) {
    void *handle = NULL;
    pthread_mutex_lock(&lock);
    if (used == room) {
        size_t wanted = room ? 2 * room : 1024;
        struct entry *grown = realloc(entries, wanted * sizeof *entries);
        if (grown) {
            entries = grown;
            room = wanted;
        }
    }
    if (used < room) {
        entries[used] = (struct entry){kind, object};
        handle = (void *)(FIRST + STEP * used++);
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

static struct entry *find(void *handle) {
    uintptr_t number = (uintptr_t)handle - FIRST;
    return (uintptr_t)handle >= FIRST && number % STEP == 0 && number / STEP < used ? &entries[number / STEP] : NULL;
}

/* NULL where the handle is no living one of this kind. */
void *shoal_object(enum kind kind, void *handle) {
    pthread_mutex_lock(&lock);
    struct entry *entry = find(handle);
    void *object = entry && entry->kind == kind ? entry->object : NULL;
    pthread_mutex_unlock(&lock);
    return object;
}

void shoal_drop_handle(void *handle) {
    pthread_mutex_lock(&lock);
    struct entry *entry = find(handle);
    if (entry)
        *entry = (struct entry){FREE, NULL};
    pthread_mutex_unlock(&lock);
}

/* In a forked child: the parent's handles mean nothing here. Their numbers are not used again. */
void shoal_forget_handles(void) {
    pthread_mutex_init(&lock, NULL);
    for (size_t i = 0; i < used; i++)
        entries[i] = (struct entry){FREE, NULL};
}
