/* The process: what the environment says of its lease, the connections, and what a fork does to them. */
#include "shoal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generated/environment.h"

struct device shoal_devices[MAX_DEVICES];
int shoal_device_count, shoal_ready;

static struct server servers[MAX_DEVICES];
static int server_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int watched; /* whether forks are heeded already */

/* A line on standard error: for what a status cannot say. */
void shoal_say(const char *format, ...) {
    char line[512];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    fprintf(stderr, "shoal: %s\n", line);
}

/* The child has no connection: the parent's are closed here, and calls answer NOT_INITIALIZED until cuInit makes the
 * child one of its own. Locks may be held by threads that do not exist here. */
static void after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    for (int i = 0; i < server_count; i++) {
        if (servers[i].socket >= 0)
            close(servers[i].socket);
        memset(&servers[i], 0, sizeof servers[i]);
        servers[i].socket = -1;
    }
    server_count = shoal_device_count = shoal_ready = 0;
    memset(shoal_devices, 0, sizeof shoal_devices);
    shoal_forget_flusher();
    shoal_forget_callbacks();
    shoal_forget_handles();
    shoal_forget_contexts();
    shoal_forget_spares(NULL);
    shoal_forget_libraries();
    shoal_forget_all_memory();
}

static CUresult server_of(const char *address, const char *token, struct server **found) {
    for (int i = 0; i < server_count; i++)
        if (!strcmp(servers[i].address, address)) {
            *found = &servers[i];
            return SUCCESS;
        }
    struct server *server = *found = &servers[server_count];
    server->socket = -1;
    if (!(server->address = strdup(address)))
        return OUT_OF_MEMORY;
    CUresult status = shoal_connect(server, token);
    if (!status)
        server_count++;
    return status;
}

/* One device: the `number`th of those at an address. */
static CUresult add(const char *address, long number, const char *token) {
    struct server *server;
    CUresult status = server_of(address, token, &server);
    if (status)
        return status;
    if (number < 0 || number >= (long)server->offers) {
        shoal_say("%s: the server %s has %u GPUs, and no number %ld", NUMBERS, address, server->offers, number);
        return NO_DEVICE;
    }
    shoal_devices[shoal_device_count++] = server->offered[number];
    return SUCCESS;
}

static CUresult add_all(char *addresses, char *numbers, const char *token) {
    char *rest = NULL, *rest_of_numbers = NULL;
    char *number = strtok_r(numbers, ",", &rest_of_numbers);
    for (char *address = strtok_r(addresses, ",", &rest); address; address = strtok_r(NULL, ",", &rest)) {
        if (shoal_device_count == MAX_DEVICES)
            break;
        char *end = NULL;
        long which = number ? strtol(number, &end, 10) : 0;
        if (number && *end) {
            shoal_say("%s: %s is no number", NUMBERS, number);
            return NO_DEVICE;
        }
        CUresult status = add(address, which, token);
        if (status)
            return status;
        number = number ? strtok_r(NULL, ",", &rest_of_numbers) : NULL;
    }
    return shoal_device_count ? SUCCESS : NO_DEVICE;
}

CUresult shoal_initialize(void) {
    pthread_mutex_lock(&lock);
    CUresult status = SUCCESS;
    if (!shoal_ready) {
        const char *told = getenv(SERVERS), *token = getenv(TOKEN), *which = getenv(NUMBERS);
        char *addresses = strdup(told ? told : ""), *numbers = strdup(which ? which : "");
        if (!watched && !pthread_atfork(NULL, NULL, after_fork))
            watched = 1;
        status = !addresses || !numbers ? OUT_OF_MEMORY : add_all(addresses, numbers, token ? token : "");
        free(addresses);
        free(numbers);
        if (!status)
            status = shoal_choose_visible();
        if (status)
            shoal_device_count = 0;
        else
            shoal_ready = 1;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
