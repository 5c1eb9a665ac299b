/* The engine that every proxy of bench/gateway.py stands before: answers at once, so that it is never the bottleneck.
 *
 *     cc -O2 -o upstream upstream.c && ./upstream PORT
 *
 * One thread, epoll, keep-alive, 127.0.0.1 only. What it answers is in the request:
 *
 *     POST, no "stream":true     1 kB of JSON, as a chat completion with its usage
 *     POST, "stream":true        Server-Sent Events: "max_tokens" chunks of 190 bytes, one every "seed" microseconds, usage, [DONE]
 *     GET /metrics               what vLLM says of an idle engine with 200,000 blocks of 16 tokens
 *     GET anything else          a list of one model
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FDS = 65536, FIRST_BUFFER = 4096, TICK_NS = 500000, ENDED = -1 };

struct connection {
    char *in;                /* what was read of the request that is not yet complete */
    size_t length, capacity;
    const char *rest;        /* what the socket did not take yet of the text being sent */
    size_t rest_length;
    long chunks;             /* chunks that this stream still owes; ENDED: only `rest` is left of it */
    long gap_ns;
    int64_t due_ns;
};

static struct connection *connections[MAX_FDS];
static int streaming[MAX_FDS], streams; /* descriptors of open streams */
static int poll_fd, timer_fd;
static char answer[2048], models[1024], metrics[4096], stream_head[512], chunk[512], stream_end[1024];
static size_t answer_length, models_length, metrics_length, stream_head_length, chunk_length, stream_end_length;

static int64_t now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static size_t with_head(char *into, size_t size, const char *kind, const char *body) {
    return snprintf(into, size, "HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %zu\r\n\r\n%s", kind, strlen(body), body);
}

static void write_texts(void) {
    char body[4096], words[800];
    size_t at;
    for (at = 0; at < 700; at++) words[at] = at % 6 == 5 ? ' ' : (char)('a' + at % 23);
    words[at] = 0;
    snprintf(body, sizeof body,
             "{\"id\":\"chatcmpl-0\",\"object\":\"chat.completion\",\"created\":1790000000,\"model\":\"m\",\"choices\":[{\"index\":0,"
             "\"message\":{\"role\":\"assistant\",\"content\":\"%s\"},\"finish_reason\":\"stop\"}],"
             "\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":140,\"total_tokens\":340}}", words);
    answer_length = with_head(answer, sizeof answer, "application/json", body);
    models_length = with_head(models, sizeof models, "application/json",
                              "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\",\"created\":1790000000,"
                              "\"owned_by\":\"vllm\",\"root\":\"m\",\"max_model_len\":1048576}]}");
    metrics_length = with_head(metrics, sizeof metrics, "text/plain; version=0.0.4; charset=utf-8",
                               "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0.0\n"
                               "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 0.0\n"
                               "# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.0\n"
                               "# TYPE vllm:num_preemptions_total counter\nvllm:num_preemptions_total{engine=\"0\",model_name=\"m\"} 0.0\n"
                               "# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\","
                               "engine=\"0\",enable_prefix_caching=\"True\",num_gpu_blocks=\"200000\"} 1.0\n");
    stream_head_length = snprintf(stream_head, sizeof stream_head,
                                  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n");
    snprintf(body, sizeof body,
             "data: {\"id\":\"chatcmpl-0\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"m\",\"choices\":"
             "[{\"index\":0,\"delta\":{\"content\":\" token\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
    chunk_length = snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n", strlen(body), body);
    snprintf(body, sizeof body,
             "data: {\"id\":\"chatcmpl-0\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"m\",\"choices\":[],"
             "\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":100,\"total_tokens\":300}}\n\ndata: [DONE]\n\n");
    stream_end_length = snprintf(stream_end, sizeof stream_end, "%zx\r\n%s\r\n0\r\n\r\n", strlen(body), body);
}

static void close_connection(int fd) {
    struct connection *c = connections[fd];
    for (int i = 0; i < streams; i++)
        if (streaming[i] == fd) streaming[i--] = streaming[--streams];
    connections[fd] = NULL;
    free(c->in);
    free(c);
    close(fd);
}

/* False if the connection is gone. What a reader that does not keep up leaves is sent with the next tick: every text is static. */
static int send_all(int fd, const char *bytes, size_t length) {
    ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) {
        close_connection(fd);
        return 0;
    }
    sent = sent < 0 ? 0 : sent;
    connections[fd]->rest = bytes + sent;
    connections[fd]->rest_length = length - sent;
    return 1;
}

static void ticking(int on) {
    struct itimerspec every = {{0, on ? TICK_NS : 0}, {0, on ? TICK_NS : 0}};
    timerfd_settime(timer_fd, 0, &every, NULL);
}

static long number_after(const char *body, size_t length, const char *key, long otherwise) {
    const char *at = memmem(body, length, key, strlen(key));
    if (!at) return otherwise;
    at += strlen(key);
    while (*at == ' ' || *at == ':') at++;
    return strtol(at, NULL, 10);
}

/* False if the connection is gone. */
static int respond(int fd, struct connection *c, const char *head, size_t head_length, const char *body, size_t length) {
    if (head[0] != 'P')
        return memmem(head, head_length, " /metrics", 9) ? send_all(fd, metrics, metrics_length) : send_all(fd, models, models_length);
    if (!memmem(body, length, "\"stream\":true", 13) && !memmem(body, length, "\"stream\": true", 14))
        return send_all(fd, answer, answer_length);
    c->chunks = number_after(body, length, "\"max_tokens\"", 16);
    c->gap_ns = number_after(body, length, "\"seed\"", 1000) * 1000;
    c->due_ns = now_ns() + c->gap_ns + c->gap_ns * (streams % 61) / 61; /* streams that begin together do not stay in step */
    if (!streams) ticking(1);
    streaming[streams++] = fd;
    return send_all(fd, stream_head, stream_head_length);
}

static const char *header(const char *head, size_t length, const char *name) {
    size_t size = strlen(name);
    for (const char *at = head; (at = memchr(at, '\n', head + length - at)); )
        if ((size_t)(head + length - ++at) > size && !strncasecmp(at, name, size)) return at + size;
    return NULL;
}

/* Where a chunked body that begins at `from` ends, or 0 if the end has not been read. */
static size_t chunked_end(const char *in, size_t from, size_t length) {
    for (size_t at = from; at < length; ) {
        const char *line_end = memmem(in + at, length - at, "\r\n", 2);
        if (!line_end) return 0;
        size_t size = strtoul(in + at, NULL, 16);
        at = line_end - in + 2 + size + 2;
        if (!size) return at <= length ? at : 0;
    }
    return 0;
}

/* Answers what is complete; false if the connection is gone. */
static int consume(int fd, struct connection *c) {
    while (c->length) {
        c->in[c->length] = 0;
        char *end = memmem(c->in, c->length, "\r\n\r\n", 4);
        if (!end) return 1;
        size_t head = end - c->in + 4, total;
        const char *said = header(c->in, head, "content-length:"), *body = c->in + head;
        if (header(c->in, head, "transfer-encoding:")) {
            if (!(total = chunked_end(c->in, head, c->length))) return 1;
        } else
            total = head + (said ? strtoul(said, NULL, 10) : 0);
        if (total > c->length) return 1;
        if (!respond(fd, c, c->in, head, body, total - head)) return 0;
        memmove(c->in, c->in + total, c->length - total);
        c->length -= total;
    }
    return 1;
}

static void readable(int fd) {
    struct connection *c = connections[fd];
    for (;;) {
        if (c->capacity - c->length < 2048) {
            c->capacity = c->capacity ? c->capacity * 2 : FIRST_BUFFER;
            c->in = realloc(c->in, c->capacity + 1);
        }
        size_t room = c->capacity - c->length;
        ssize_t got = recv(fd, c->in + c->length, room, 0);
        if (got <= 0) {
            if (got == 0 || errno != EAGAIN) close_connection(fd);
            return;
        }
        c->length += got;
        if (!consume(fd, c) || (size_t)got < room) return;
    }
}

static void accept_all(int listener) {
    int fd, yes = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= MAX_FDS) { close(fd); continue; }
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        connections[fd] = calloc(1, sizeof *connections[fd]);
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

static void tick(void) {
    uint64_t expired;
    if (read(timer_fd, &expired, sizeof expired) < 0) return;
    int64_t at = now_ns();
    for (int i = streams - 1; i >= 0; i--) {
        int fd = streaming[i];
        struct connection *c = connections[fd];
        int alive = c->rest_length ? send_all(fd, c->rest, c->rest_length) : 1;
        while (alive && c->chunks > 0 && !c->rest_length && c->due_ns <= at) {
            c->due_ns += c->gap_ns;
            alive = send_all(fd, chunk, chunk_length);
            if (alive && c->rest_length) c->due_ns = at + c->gap_ns;
            if (alive) c->chunks--;
        }
        if (alive && !c->chunks && !c->rest_length) {
            c->chunks = ENDED;
            alive = send_all(fd, stream_end, stream_end_length);
        }
        if (alive && c->chunks == ENDED && !c->rest_length) streaming[i] = streaming[--streams];
    }
    if (!streams) ticking(0);
}

int main(int count, char **arguments) {
    if (count != 2) return fprintf(stderr, "usage: upstream PORT\n"), 2;
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&where, sizeof where) || listen(listener, 4096)) return perror("upstream"), 1;
    write_texts();
    poll_fd = epoll_create1(0);
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int sources[] = {listener, timer_fd};
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = sources[i]};
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, sources[i], &event);
    }
    for (;;) {
        struct epoll_event events[512];
        int ready = epoll_wait(poll_fd, events, 512, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) accept_all(listener);
            else if (fd == timer_fd) tick();
            else if (connections[fd]) readable(fd);
        }
    }
}
