/* Functions of the program that a stream calls when it has come to them. The server has the stream wait; a thread asks it
 * for the next function that is due, calls it, and says that it has returned. After a fault of the context only those of
 * cuStreamAddCallback are called, with the fault. Such a function may not call CUDA. */
#include "shoal.h"

#include <stdlib.h>

#include "generated/functions.h"
#include "generated/messages.h"

struct callback {
    uint64_t number;
    void (*host_function)(void *data);
    void (*stream_callback)(void *stream, CUresult status, void *data);
    void *stream, *data;
    struct callback *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct callback *waiting;
static uint64_t last_number;
static int outstanding; /* those that have not returned */
static struct server *served[MAX_DEVICES]; /* those with a thread */
static int served_count;

__thread int shoal_in_callback;

/* Whether one may yet write what a copy that was asked for after it is to read. */
int shoal_callbacks_outstanding(void) {
    return __sync_fetch_and_add(&outstanding, 0) > 0;
}

static struct callback *take(uint64_t number) {
    pthread_mutex_lock(&lock);
    struct callback **at = &waiting;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct callback *found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

static void *caller(void *given) {
    struct server *server = given;
    for (;;) {
        struct call call;
        struct reply reply = {0};
        shoal_begin(&call, server, M_NEXT_CALL, 0);
        CUresult status = shoal_ask(&call, NULL, 0, &reply);
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        uint64_t number = get_u64(&reader);
        CUresult told = (CUresult)get_u32(&reader);
        shoal_free_reply(&reply);
        if (status || reader.short_of)
            return NULL;
        struct callback *due = take(number);
        if (due) {
            shoal_in_callback = 1;
            if (due->stream_callback)
                due->stream_callback(due->stream, told, due->data);
            else if (!told)
                due->host_function(due->data);
            shoal_in_callback = 0;
            free(due);
        }
        shoal_begin(&call, server, M_CALLED, 0);
        put_u64(&call, number);
        status = shoal_ask_plainly(&call);
        if (due)
            __sync_fetch_and_sub(&outstanding, 1);
        if (status)
            return NULL;
    }
}

static CUresult serve(struct server *server) {
    CUresult status = SUCCESS;
    pthread_mutex_lock(&lock);
    int at = 0;
    while (at < served_count && served[at] != server)
        at++;
    if (at == served_count) {
        status = shoal_start_thread(caller, server) ? OUT_OF_MEMORY : SUCCESS;
        if (!status)
            served[served_count++] = server;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static CUresult add(struct callback given) {
    struct call call;
    uint64_t stream = shoal_stream(given.stream);
    CUresult status = shoal_current_call(&call, M_CALL);
    struct callback *kept = NULL;
    if (!status)
        status = serve(call.server);
    if (!status && !(kept = malloc(sizeof *kept)))
        status = OUT_OF_MEMORY;
    if (status)
        return status;
    *kept = given;
    __sync_fetch_and_add(&outstanding, 1);
    pthread_mutex_lock(&lock);
    kept->number = ++last_number;
    kept->next = waiting;
    waiting = kept;
    put_u64(&call, kept->number);
    pthread_mutex_unlock(&lock);
    put_u64(&call, stream);
    return shoal_post(&call, NULL, 0);
}

EXPORT CUresult cuLaunchHostFunc(void *hStream, void *fn, void *userData) {
    if (!fn)
        return INVALID_VALUE;
    return add((struct callback){.host_function = (void (*)(void *))(uintptr_t)fn, .stream = hStream, .data = userData});
}

EXPORT CUresult cuStreamAddCallback(void *hStream, void *callback, void *userData, unsigned flags) {
    if (!callback || flags)
        return INVALID_VALUE;
    void (*called)(void *, CUresult, void *) = (void (*)(void *, CUresult, void *))(uintptr_t)callback;
    return add((struct callback){.stream_callback = called, .stream = hStream, .data = userData});
}

/* In a forked child: neither the threads nor what they were to call are there. */
void shoal_forget_callbacks(void) {
    pthread_mutex_init(&lock, NULL);
    while (waiting) {
        struct callback *gone = waiting;
        waiting = gone->next;
        free(gone);
    }
    served_count = outstanding = 0;
}
