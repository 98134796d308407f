/* The wire. A message is a header of four little-endian words (bytes that follow, kind, sequence number, context) and
 * its fields; a reply is a header (bytes that follow, status, sequence number, bytes of printed output) and its data.
 *
 * Posted messages get no reply. They wait in a buffer, and are sent by the next call that needs an answer, when the
 * buffer is full, or a moment later by a thread; an error of theirs is the status of the next reply. What does not fit
 * in the buffer is sent at once, and the network's own limits then hold the program back: memory stays bounded. */
#include "shoal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "generated/messages.h"

#if defined(__x86_64__)
/* Newer glibcs have them in libc under new versions; the old ones are there, too, and in every older libpthread. */
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");
#endif

#define PENDING ((size_t)64 << 10)
#define FLUSH_NANOSECONDS 200000
#define SILENCE_SECONDS 60 /* a host that does not even acknowledge for so long is gone */
#define CONNECT_SECONDS 10
#define GREETING_SECONDS 60 /* the server imports its driver's compiler, perhaps on a busy machine */

static pthread_mutex_t soon = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct server *waiting[MAX_DEVICES];
static int waiting_count, flusher_of;

static void write_u32(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

void put_u32(struct call *call, uint32_t value) {
    write_u32(call->body + call->bytes, value);
    call->bytes += 4;
}

void put_u64(struct call *call, uint64_t value) {
    put_u32(call, (uint32_t)value);
    put_u32(call, (uint32_t)(value >> 32));
}

void shoal_begin(struct call *call, struct server *server, uint16_t message, uint32_t context) {
    call->server = server;
    call->message = message;
    call->context = context;
    call->bytes = HEADER;
}

/* The socket stays open, since another thread may be about to use it, and its number must not be another file's. */
CUresult shoal_lose(struct server *server, const char *why) {
    if (!__sync_lock_test_and_set(&server->lost, 1))
        shoal_say("the GPU server %s is lost: %s", server->address, why);
    if (server->socket >= 0)
        shutdown(server->socket, SHUT_RDWR);
    return DEVICE_UNAVAILABLE;
}

static CUresult send_all(struct server *server, struct iovec *part, int parts) {
    while (parts) {
        if (!part->iov_len) {
            part++, parts--;
            continue;
        }
        struct msghdr message = {.msg_iov = part, .msg_iovlen = (size_t)parts};
        ssize_t sent = sendmsg(server->socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return shoal_lose(server, strerror(errno));
        for (size_t left = (size_t)sent; left;) {
            size_t step = left < part->iov_len ? left : part->iov_len;
            part->iov_base = (uint8_t *)part->iov_base + step;
            part->iov_len -= step;
            left -= step;
            if (!part->iov_len)
                part++, parts--;
        }
    }
    return SUCCESS;
}

static CUresult flush(struct server *server) {
    struct iovec part = {server->pending, server->pending_bytes};
    server->pending_bytes = 0;
    return send_all(server, &part, 1);
}

static void finish(struct call *call, size_t tail) {
    write_u32(call->body, (uint32_t)(call->bytes - HEADER + tail));
    write_u32(call->body + 4, call->message);
    write_u32(call->body + 8, ++call->server->sequence);
    write_u32(call->body + 12, call->context);
}

static void *flusher(void *nothing) {
    (void)nothing;
    for (;;) {
        pthread_mutex_lock(&soon);
        while (!waiting_count)
            pthread_cond_wait(&wake, &soon);
        struct server *server = waiting[--waiting_count];
        pthread_mutex_unlock(&soon);
        nanosleep(&(struct timespec){0, FLUSH_NANOSECONDS}, NULL);
        pthread_mutex_lock(&server->lock);
        if (!server->lost && server->pending_bytes)
            flush(server);
        pthread_mutex_unlock(&server->lock);
    }
    return NULL;
}

/* One that nobody waits for, and that takes no signals: those are the program's. */
int shoal_start_thread(void *(*run)(void *), void *given) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &attributes, run, given);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

/* Have the thread send what is pending. It is started when first needed, and anew in a forked child. */
void shoal_flush_soon(struct server *server) {
    pthread_mutex_lock(&soon);
    if (flusher_of != getpid())
        flusher_of = shoal_start_thread(flusher, NULL) ? 0 : getpid();
    if (waiting_count < MAX_DEVICES)
        waiting[waiting_count++] = server;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&soon);
}

/* In a forked child: the thread is not there, and its lock may be held for ever. */
void shoal_forget_flusher(void) {
    pthread_mutex_init(&soon, NULL);
    pthread_cond_init(&wake, NULL);
    waiting_count = flusher_of = 0;
}

/* Send without waiting for an answer. */
CUresult shoal_post(struct call *call, const void *tail, size_t bytes) {
    struct server *server = call->server;
    CUresult status = SUCCESS;
    int first = 0;
    pthread_mutex_lock(&server->lock);
    if (server->lost) {
        pthread_mutex_unlock(&server->lock);
        return DEVICE_UNAVAILABLE;
    }
    finish(call, bytes);
    size_t whole = call->bytes + bytes;
    if (whole > PENDING / 2) {
        struct iovec parts[] = {
            {server->pending, server->pending_bytes}, {call->body, call->bytes}, {(void *)(uintptr_t)tail, bytes}};
        server->pending_bytes = 0;
        status = send_all(server, parts, 3);
    } else {
        if (server->pending_bytes + whole > PENDING)
            status = flush(server);
        if (!status) {
            first = !server->pending_bytes;
            memcpy(server->pending + server->pending_bytes, call->body, call->bytes);
            if (bytes)
                memcpy(server->pending + server->pending_bytes + call->bytes, tail, bytes);
            server->pending_bytes += whole;
        }
    }
    pthread_mutex_unlock(&server->lock);
    if (first)
        shoal_flush_soon(server);
    return status;
}

/* Send, and wait for the answer. What is in `reply` is to be freed by shoal_free_reply, whatever the status. */
CUresult shoal_ask(struct call *call, const void *tail, size_t bytes, struct reply *reply) {
    struct server *server = call->server;
    struct waiter waiter;
    reply->data = NULL;
    reply->bytes = 0;
    if (shoal_in_callback)
        return NOT_PERMITTED;
    pthread_mutex_lock(&server->lock);
    CUresult status = server->lost ? DEVICE_UNAVAILABLE : SUCCESS;
    if (!status) {
        finish(call, bytes);
        shoal_expect(server, &waiter, reply);
        struct iovec parts[] = {
            {server->pending, server->pending_bytes}, {call->body, call->bytes}, {(void *)(uintptr_t)tail, bytes}};
        server->pending_bytes = 0;
        send_all(server, parts, 3); /* where this fails the server is lost, and no answer comes */
    }
    pthread_mutex_unlock(&server->lock);
    return status ? status : shoal_await(server, &waiter);
}

CUresult shoal_ask_plainly(struct call *call) {
    struct reply reply = {0};
    CUresult status = shoal_ask(call, NULL, 0, &reply);
    shoal_free_reply(&reply);
    return status;
}

static int reach(const char *address) {
    char host[256];
    const char *colon = strrchr(address, ':');
    if (!colon || (size_t)(colon - address) >= sizeof host)
        return -1;
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = 0;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(host, colon + 1, &hints, &found))
        return -1;
    int reached = -1;
    for (struct addrinfo *each = found; each && reached < 0; each = each->ai_next) {
        reached = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct timeval patience = {CONNECT_SECONDS, 0};
        if (reached >= 0)
            setsockopt(reached, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (reached >= 0 && connect(reached, each->ai_addr, each->ai_addrlen)) {
            close(reached);
            reached = -1;
        }
    }
    freeaddrinfo(found);
    return reached;
}

/* A server that is busy is waited for; one whose machine is gone is not. */
static void set_options(int socket) {
    int on = 1, silence = SILENCE_SECONDS, milliseconds = SILENCE_SECONDS * 1000, every = 10, times = 5;
    struct timeval never = {0, 0};
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &never, sizeof never);
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    silence /= 6;
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &silence, sizeof silence);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

/* For a reply; 0 is as long as it takes: a kernel may run for hours. */
static void wait_at_most(int socket, int seconds) {
    struct timeval patience = {seconds, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

static CUresult read_devices(struct server *server, const struct reply *reply) {
    struct reader reader = {reply->data, reply->data + reply->bytes, 0};
    uint32_t protocol = get_u32(&reader);
    if (protocol != PROTOCOL) {
        shoal_say("the GPU server %s speaks protocol %u, this library %u", server->address, protocol, PROTOCOL);
        return DEVICE_UNAVAILABLE;
    }
    server->version = get_u32(&reader);
    server->offers = get_u32(&reader);
    if (server->offers > 1024 || !(server->offered = calloc(server->offers + 1, sizeof *server->offered)))
        return shoal_lose(server, "it does not speak this protocol");
    for (uint32_t i = 0; i < server->offers; i++) {
        struct device *device = &server->offered[i];
        device->server = server;
        device->number = i;
        device->name = get_text(&reader);
        device->bus = get_text(&reader);
        memcpy(device->uuid, get_bytes(&reader, 16), 16);
        device->memory = get_u64(&reader);
        device->attributes = get_attributes(&reader, &device->attribute_count);
    }
    return reader.short_of ? shoal_lose(server, "it does not speak this protocol") : SUCCESS;
}

/* Connect, show the token, and read what the server has. */
CUresult shoal_connect(struct server *server, const char *token) {
    struct reply reply = {0};
    struct waiter waiter;
    struct iovec shown[] = {{(void *)(uintptr_t)token, strlen(token)}, {(void *)(uintptr_t) "\n", 1}};
    pthread_mutex_init(&server->lock, NULL);
    pthread_mutex_init(&server->replies, NULL);
    pthread_cond_init(&server->news, NULL);
    server->waiters = NULL;
    server->reading = 0;
    if (!server->pending && !(server->pending = malloc(PENDING)))
        return OUT_OF_MEMORY;
    server->sequence = 0;
    server->lost = 0;
    if ((server->socket = reach(server->address)) < 0) {
        shoal_say("the GPU server %s cannot be reached", server->address);
        server->lost = 1;
        return DEVICE_UNAVAILABLE;
    }
    set_options(server->socket);
    wait_at_most(server->socket, GREETING_SECONDS);
    shoal_expect(server, &waiter, &reply);
    send_all(server, shown, 2);
    CUresult status = shoal_await(server, &waiter);
    if (!server->lost)
        wait_at_most(server->socket, 0);
    if (!status)
        status = read_devices(server, &reply);
    else if (reply.data && reply.bytes)
        shoal_say("the GPU server %s refuses: %.*s", server->address, (int)reply.bytes, (const char *)reply.data);
    if (status) {
        shoal_lose(server, "no connection was made");
        close(server->socket);
        server->socket = -1;
    }
    shoal_free_reply(&reply);
    return status;
}
