/* The load of bench/gateway.py that wrk has no mode for. One thread, epoll, 127.0.0.1 only; prints one line of JSON.
 *
 *     cc -O2 -o client client.c
 *     ./client paced   PORT REQUEST_FILE RATE SECONDS         requests at fixed instants, whatever the answers do; latency from the
 *                                                             instant that was meant, so that a stall is not hidden by waiting for it
 *     ./client streams PORT REQUEST_FILE COUNT SECONDS        COUNT streams at once, each asked for again when it ends; events (blank
 *                                                             lines) per second, and the gap between two events of one stream
 *
 * REQUEST_FILE holds one complete HTTP/1.1 request, head and body.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP_NS = 500000000, CONNECTIONS = 256, MAX_SAMPLES = 1 << 23 };

struct connection {
    int fd;
    int64_t since_ns;        /* paced: the instant that was meant; streams: the last event, or 0 before the first */
    size_t head, owed;       /* bytes of the answer's head seen so far; of its body still to come */
    int in_body, chunked, newline, status_ok;
    char buffer[8192];
};

static char *request;
static size_t request_length;
static float *samples;
static size_t sampled, events, before, refused, broken; /* before: events of the warm-up */
static int poll_fd, port;

static int64_t now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static void sample(int64_t ns) {
    if (sampled < MAX_SAMPLES) samples[sampled++] = ns / 1e6f;
}

static void dial(struct connection *c) {
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (struct sockaddr *)&where, sizeof where)) { perror("client"); exit(1); }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, c->fd, &event);
}

static void ask(struct connection *c) {
    c->head = c->owed = 0;
    c->in_body = c->chunked = c->newline = 0;
    for (size_t sent = 0; sent < request_length; ) {
        ssize_t now = send(c->fd, request + sent, request_length - sent, MSG_NOSIGNAL);
        if (now <= 0) return;
        sent += now;
    }
}

static const char *header(const char *head, size_t length, const char *name) {
    size_t size = strlen(name);
    for (const char *at = head; (at = memchr(at, '\n', head + length - at)); )
        if ((size_t)(head + length - ++at) > size && !strncasecmp(at, name, size)) return at + size;
    return NULL;
}

/* Takes in what was read; true when the answer is complete. */
static int take(struct connection *c, size_t got) {
    const char *at = c->buffer;
    size_t left = got;
    if (!c->in_body) {
        size_t known = c->head + got;
        char *end = memmem(c->buffer, known, "\r\n\r\n", 4);
        if (!end) { c->head = known; return 0; }
        size_t head = end - c->buffer + 4;
        const char *said = header(c->buffer, head, "content-length:");
        c->chunked = !said;
        c->owed = said ? strtoul(said, NULL, 10) : 0;
        c->status_ok = !memcmp(c->buffer + 9, "200", 3);
        c->in_body = 1;
        c->head = 0;
        at = c->buffer + head;
        left = known - head;
    }
    if (!c->chunked) { c->owed -= left < c->owed ? left : c->owed; return !c->owed; }
    return left >= 5 && !memcmp(at + left - 5, "0\r\n\r\n", 5);
}

/* Counts the events that end in these bytes. */
static size_t events_in(struct connection *c, const char *at, const char *end) {
    size_t found = 0;
    while (at < end) {
        if (*at == '\n') { if (c->newline) { found++; c->newline = 0; } else c->newline = 1; at++; continue; }
        c->newline = 0;
        const char *next = memchr(at, '\n', end - at);
        at = next ? next : end;
    }
    return found;
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void report(double seconds, size_t done) {
    qsort(samples, sampled, sizeof *samples, by_value);
    float none = -1, *p = sampled ? samples : &none;
    size_t n = sampled ? sampled : 1;
    printf("{\"seconds\": %.3f, \"answers\": %zu, \"events\": %zu, \"eventsBefore\": %zu, \"refused\": %zu, \"broken\": %zu, \"p50Ms\": %.4f, \"p99Ms\": %.4f, "
           "\"maxMs\": %.4f}\n", seconds, done, events, before, refused, broken, p[n / 2], p[n * 99 / 100], p[n - 1]);
}

static void streams(int count, double seconds) {
    struct connection *all = calloc(count, sizeof *all);
    size_t done = 0;
    for (int i = 0; i < count; i++) dial(&all[i]); /* a short listen queue makes this long: nothing is counted yet */
    for (int i = 0; i < count; i++) ask(&all[i]);
    int64_t start = now_ns() + WARM_UP_NS, end = start + (int64_t)(seconds * 1e9), at;
    int warm = 0;
    while ((at = now_ns()) < end) {
        if (!warm && at >= start) { warm = 1; before = events; events = sampled = 0; }
        struct epoll_event ready[256];
        int n = epoll_wait(poll_fd, ready, 256, 100);
        at = now_ns();
        for (int i = 0; i < n; i++) {
            struct connection *c = ready[i].data.ptr;
            ssize_t got = recv(c->fd, c->buffer + c->head, sizeof c->buffer - c->head, 0);
            if (got <= 0) { broken++; close(c->fd); dial(c); ask(c); continue; }
            size_t found = events_in(c, c->buffer + c->head, c->buffer + c->head + got);
            if (found) {
                if (c->since_ns) sample(at - c->since_ns);
                for (size_t more = 1; more < found; more++) sample(0);
                c->since_ns = at;
                events += found;
            }
            if (take(c, got)) {
                done++;
                if (!c->status_ok) { refused++; usleep(100); }
                c->since_ns = 0;
                ask(c);
            }
        }
    }
    report((now_ns() - start) / 1e9, done);
}

static void paced(double rate, double seconds) {
    static struct connection all[CONNECTIONS];
    struct connection *idle[CONNECTIONS];
    int resting = 0;
    size_t done = 0, asked = 0, wanted = (size_t)(rate * seconds);
    for (int i = 0; i < 8; i++) { dial(&all[i]); idle[resting++] = &all[i]; }
    int open = 8;
    int64_t start = now_ns(), step = (int64_t)(1e9 / rate), give_up = start + (int64_t)((seconds + 5) * 1e9);
    while (done < wanted && now_ns() < give_up) {
        int64_t at = now_ns(), due = start + (int64_t)asked * step;
        while (asked < wanted && due <= at && (resting || open < CONNECTIONS)) {
            if (!resting) { dial(&all[open]); idle[resting++] = &all[open++]; }
            struct connection *c = idle[--resting];
            c->since_ns = due;
            ask(c);
            due = start + (int64_t)++asked * step;
        }
        int64_t wait = asked < wanted && (resting || open < CONNECTIONS) ? due - now_ns() : 100000000;
        struct timespec for_s = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};
        struct epoll_event ready[256];
        int n = epoll_pwait2(poll_fd, ready, 256, &for_s, NULL);
        for (int i = 0; i < n; i++) {
            struct connection *c = ready[i].data.ptr;
            ssize_t got = recv(c->fd, c->buffer + c->head, sizeof c->buffer - c->head, 0);
            if (got > 0 && !take(c, got)) continue;
            if (got > 0) { sample(now_ns() - c->since_ns); refused += !c->status_ok; }
            else { broken++; close(c->fd); dial(c); }
            done++;
            idle[resting++] = c;
        }
    }
    report((now_ns() - start) / 1e9, done);
}

int main(int count, char **arguments) {
    if (count != 6) return fprintf(stderr, "usage: client paced|streams PORT REQUEST_FILE RATE|COUNT SECONDS\n"), 2;
    port = atoi(arguments[2]);
    FILE *file = fopen(arguments[3], "rb");
    if (!file) return perror(arguments[3]), 1;
    request = malloc(1 << 20);
    request_length = fread(request, 1, 1 << 20, file);
    samples = malloc(sizeof *samples * MAX_SAMPLES);
    poll_fd = epoll_create1(0);
    signal(SIGPIPE, SIG_IGN);
    if (!strcmp(arguments[1], "paced")) paced(atof(arguments[4]), atof(arguments[5]));
    else streams(atoi(arguments[4]), atof(arguments[5]));
    return 0;
}
