/* Replies, read by whichever of the threads that wait for one is there first. */
#include "shoal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NANOSECONDS 60000

static CUresult receive(struct server *server, void *to, size_t bytes) {
    while (bytes) {
        ssize_t got = recv(server->socket, to, bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return shoal_lose(server, got ? strerror(errno) : "it has closed the connection");
        to = (uint8_t *)to + got;
        bytes -= (size_t)got;
    }
    return SUCCESS;
}

/* Look for a reply for a moment before sleeping: most come within that, and to be woken costs as much again. Where one
 * processor does it all, looking would keep the server from answering. */
static CUresult receive_soon(struct server *server, void *to, size_t bytes) {
    static long processors;
    struct timespec now, began;
    if (!processors)
        processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 2)
        return receive(server, to, bytes);
    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        ssize_t got = recv(server->socket, to, bytes, MSG_DONTWAIT);
        if (got == (ssize_t)bytes)
            return SUCCESS;
        if (got > 0)
            return receive(server, (uint8_t *)to + got, bytes - (size_t)got);
        if (!got || (errno != EAGAIN && errno != EINTR))
            break; /* the reading that waits tells what is wrong */
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec < LOOK_NANOSECONDS);
    return receive(server, to, bytes);
}

/* What kernels have printed, to the program's own output. */
static CUresult print(struct server *server, size_t bytes) {
    char part[4096];
    while (bytes) {
        size_t step = bytes < sizeof part ? bytes : sizeof part;
        CUresult status = receive(server, part, step);
        if (status)
            return status;
        fwrite(part, 1, step, stdout);
        bytes -= step;
    }
    fflush(stdout);
    return SUCCESS;
}

static struct waiter *waiter_of(struct server *server, uint32_t sequence) {
    pthread_mutex_lock(&server->replies);
    struct waiter *found = server->waiters;
    while (found && (found->sequence != sequence || found->done))
        found = found->next;
    pthread_mutex_unlock(&server->replies);
    return found;
}

/* The next reply, whosever it is: its thread waits until it is told that it is `done`. NULL where the server is lost. */
static struct waiter *read_reply(struct server *server) {
    uint8_t header[HEADER];
    if (receive_soon(server, header, HEADER))
        return NULL;
    struct reader reader = {header, header + HEADER, 0};
    size_t bytes = get_u32(&reader);
    CUresult told = (CUresult)get_u32(&reader);
    struct waiter *waiter = waiter_of(server, get_u32(&reader));
    size_t printed = get_u32(&reader);
    if (!waiter || printed > bytes) {
        shoal_lose(server, "it does not speak this protocol");
        return NULL;
    }
    if (printed && print(server, printed))
        return NULL;
    struct reply *reply = waiter->reply;
    reply->bytes = bytes - printed;
    uint8_t *to = reply->small;
    if (!told && reply->into && reply->bytes == reply->room)
        to = reply->into;
    else if (reply->bytes > sizeof reply->small && !(to = malloc(reply->bytes))) {
        shoal_lose(server, "no memory for its reply");
        return NULL;
    }
    reply->data = to;
    waiter->status = told;
    return receive(server, to, reply->bytes) ? NULL : waiter;
}

/* To be called before the message is sent. `waiter` stays in its place until shoal_await has returned. */
void shoal_expect(struct server *server, struct waiter *waiter, struct reply *reply) {
    *waiter = (struct waiter){.sequence = server->sequence, .reply = reply};
    pthread_mutex_lock(&server->replies);
    waiter->next = server->waiters;
    server->waiters = waiter;
    pthread_mutex_unlock(&server->replies);
}

/* The answer, read by this thread or by another. */
CUresult shoal_await(struct server *server, struct waiter *waiter) {
    pthread_mutex_lock(&server->replies);
    while (!waiter->done && !server->lost) {
        if (server->reading) {
            pthread_cond_wait(&server->news, &server->replies);
            continue;
        }
        server->reading = 1;
        pthread_mutex_unlock(&server->replies);
        struct waiter *answered = read_reply(server);
        pthread_mutex_lock(&server->replies);
        server->reading = 0;
        if (answered)
            answered->done = 1;
        pthread_cond_broadcast(&server->news);
    }
    while (server->reading && !waiter->done) /* of a lost server: what is read may be for this thread */
        pthread_cond_wait(&server->news, &server->replies);
    struct waiter **at = &server->waiters;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    pthread_mutex_unlock(&server->replies);
    return waiter->done ? waiter->status : DEVICE_UNAVAILABLE;
}

void shoal_free_reply(struct reply *reply) {
    if (reply->data != reply->small && reply->data != reply->into)
        free(reply->data);
    reply->data = NULL;
}
