/* What no wire can beat: bare trips N | copies BYTES N, over TCP on loopback between two processes, and memory BYTES N.
   Prints seconds, one number a line. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 16 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void whole(int fd, char *data, size_t bytes, int out) {
    while (bytes) {
        ssize_t done = out ? send(fd, data, bytes, 0) : recv(fd, data, bytes, 0);
        if (done <= 0)
            exit(out ? 1 : 0);
        data += done, bytes -= done;
    }
}

/* Takes so many bytes and answers a message, over and over. */
static void answer(int listening, size_t bytes) {
    char *data = malloc(bytes), told[MESSAGE] = {0};
    int yes = 1, fd = accept(listening, NULL, NULL);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    for (;;) {
        whole(fd, data, bytes, 0);
        whole(fd, told, MESSAGE, 1);
    }
}

static void over_tcp(size_t bytes, int count) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof place;
    int yes = 1, listening = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, (void *)&place, length) || listen(listening, 1) ||
        getsockname(listening, (void *)&place, &length))
        exit(1);
    if (!fork())
        answer(listening, bytes);
    close(listening);
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* after the fork: its end must end the other process */
    if (connect(fd, (void *)&place, length))
        exit(1);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    char *data = malloc(bytes), told[MESSAGE];
    memset(data, 1, bytes);
    for (int i = 0; i < count; i++) {
        double began = now();
        whole(fd, data, bytes, 1);
        whole(fd, told, MESSAGE, 0);
        printf("%.9f\n", now() - began);
    }
}

static void in_memory(size_t bytes, int count) {
    char *from = malloc(bytes), *to = malloc(bytes);
    memset(from, 1, bytes), memset(to, 0, bytes);
    for (int i = 0; i < count; i++) {
        double began = now();
        memcpy(to, from, bytes);
        __asm__ volatile("" ::"r"(to) : "memory");
        printf("%.9f\n", now() - began);
    }
}

int main(int count, char **words) {
    if (count == 3)
        over_tcp(MESSAGE, atoi(words[2]));
    else if (!strcmp(words[1], "copies"))
        over_tcp(strtoull(words[2], NULL, 10), atoi(words[3]));
    else
        in_memory(strtoull(words[2], NULL, 10), atoi(words[3]));
    return 0;
}
