// Model server at minimal cost: the upstream of every benchmark.
//
//   upstream [slots] [delay_ms] [tokens] [gap_ms]
//
// prints {"port":N} and serves on 127.0.0.1 until its standard input closes. The first part of the path selects the behavior:
//
//   POST /fast/...    a chat completion at once
//   POST /delay/...   the same after delay_ms in one of `slots` slots; further requests queue
//   POST /refuse/...  the same, but a 429 if every slot is taken
//   POST /trouble/... like /delay, but of 1,000 requests 10 get a 429, 5 are processed and then cut off, and 1 hangs in
//                     its slot until the client disconnects
//   POST /burst/...   a streamed answer of `tokens` events in one write
//   POST /paced/...   the same, an event each gap_ms
//   GET  .../models   404, whatever the path starts with
//   GET  /stats       statistics since the last reset; ?reset clears them, &slots=, &delay= and &sigma= change the settings
//
// With a sigma, delays are lognormal with that spread and the mean delay_ms.
//
// Slot time is counted here, where it is spent: busy_slot_ms is the time that slots were taken, summed over all slots;
// span_ms is the time from the first request of /delay, /refuse or /trouble to its last answer. lost_slot_ms is the part of
// busy_slot_ms for requests without an answer: those that were cut off or hung.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { READ_STEP = 16384, EVENTS = 256, MAX_TOKENS = 1000 };
enum task { NO_TASK, SLOT, PACED };
enum fate { ANSWER, CUT, HANG };

typedef struct {
  char *data;
  size_t length, capacity;
} bytes;

typedef struct conn {
  int fd;
  bytes in, out;
  enum task task;   // work in progress; further input waits in `in`
  enum fate fate;   // of the request in the slot
  double entered;   // time it got its slot; 0 while it queues
  int token;        // next one of a paced answer
  int gone;         // the client disconnected; freed when no task holds it
  int blocked;      // waiting for EPOLLOUT
  struct conn *next; // in the queue for a slot
} conn;

typedef struct {
  double due;
  conn *of;
} timer;

static int slots = 64, tokens = 50;
static double delay_ms = 50, gap_ms = 10, sigma = 0;
static int poller, clock_fd;

static struct {
  long total, refused, cut, hung;
  int active, max_active, queued, max_queued;
  double busy, lost, changed, first, last, first_epoch, last_epoch;
} stats;

static timer *heap;
static size_t heap_length, heap_capacity;
static conn *queue_head, *queue_tail;
static bytes answer, refusal, sse_head, sse_tail, burst, events[MAX_TOKENS];

static double now_of(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now(void) { return now_of(CLOCK_MONOTONIC); }

static void *must(void *memory) {
  if (!memory) {
    perror("memory");
    exit(1);
  }
  return memory;
}

static void append(bytes *to, const char *data, size_t length) {
  if (to->length + length + 1 > to->capacity) {
    to->capacity = (to->length + length + 1) * 2;
    to->data = must(realloc(to->data, to->capacity));
  }
  memcpy(to->data + to->length, data, length);
  to->length += length;
  to->data[to->length] = 0;
}

static void append_text(bytes *to, const char *text) { append(to, text, strlen(text)); }

// ---- timers: a binary heap, the earliest first

static void timer_add(double due, conn *of) {
  if (heap_length == heap_capacity) {
    heap_capacity = heap_capacity ? heap_capacity * 2 : 256;
    heap = must(realloc(heap, heap_capacity * sizeof *heap));
  }
  size_t i = heap_length++;
  for (; i > 0 && heap[(i - 1) / 2].due > due; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
  heap[i] = (timer){due, of};
}

static conn *timer_take(void) {
  conn *first = heap[0].of;
  timer moved = heap[--heap_length];
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < heap_length; i = child) {
    if (child + 1 < heap_length && heap[child + 1].due < heap[child].due) child++;
    if (moved.due <= heap[child].due) break;
    heap[i] = heap[child];
  }
  heap[i] = moved;
  return first;
}

static void set_alarm(void) {
  struct itimerspec at = {0};
  if (heap_length) {
    double due = heap[0].due;
    at.it_value.tv_sec = (time_t)(due / 1e3);
    at.it_value.tv_nsec = (long)((due - (double)at.it_value.tv_sec * 1e3) * 1e6) + 1;
    if (at.it_value.tv_nsec > 999999999) at.it_value.tv_nsec = 999999999;
  }
  timerfd_settime(clock_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

// ---- connections

static void watch(conn *c, int operation, unsigned events_wanted) {
  struct epoll_event event = {.events = events_wanted, .data.ptr = c};
  epoll_ctl(poller, operation, c->fd, &event);
}

static void release(conn *c) {
  free(c->in.data);
  free(c->out.data);
  free(c);
}

static void leave_slot(conn *c);

static void leave(conn *c) {
  if (c->gone) return;
  c->gone = 1;
  close(c->fd);
  int hangs = c->task == SLOT && c->fate == HANG && c->entered;
  if (hangs) {
    stats.hung++;
    leave_slot(c);
  }
  if (hangs || c->task == NO_TASK) release(c);
}

// Sends a reset instead of an end.
static void cut(conn *c) {
  struct linger at_once = {.l_onoff = 1};
  setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  leave(c);
}

static void flush(conn *c) {
  size_t sent = 0;
  while (sent < c->out.length) {
    ssize_t n = send(c->fd, c->out.data + sent, c->out.length - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += (size_t)n;
  }
  memmove(c->out.data, c->out.data + sent, c->out.length - sent);
  c->out.length -= sent;
  int blocked = c->out.length > 0;
  if (blocked != c->blocked) watch(c, EPOLL_CTL_MOD, EPOLLIN | (blocked ? EPOLLOUT : 0));
  c->blocked = blocked;
}

static void say(conn *c, const bytes *what) {
  if (c->gone) return;
  size_t sent = 0;
  if (!c->out.length) {
    ssize_t n = send(c->fd, what->data, what->length, MSG_NOSIGNAL);
    if (n > 0) sent = (size_t)n;
  }
  if (sent == what->length) return;
  append(&c->out, what->data + sent, what->length - sent);
  flush(c);
}

// ---- slots

static void change_active(int by) {
  double t = now();
  if (!stats.first) {
    stats.first = stats.changed = t;
    stats.first_epoch = now_of(CLOCK_REALTIME);
  }
  stats.busy += stats.active * (t - stats.changed);
  stats.changed = stats.last = t;
  stats.last_epoch = now_of(CLOCK_REALTIME);
  stats.active += by;
  if (stats.active > stats.max_active) stats.max_active = stats.active;
}

static double uniform(void) { return ((double)rand() + 1) / ((double)RAND_MAX + 2); }

static double next_delay(void) {
  if (sigma <= 0) return delay_ms;
  double normal = sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
  return delay_ms * exp(sigma * normal - sigma * sigma / 2);
}

static void enter_slot(conn *c) {
  change_active(1);
  c->entered = now();
  if (c->fate != HANG) timer_add(c->entered + next_delay(), c);
}

static void wait_for_slot(conn *c) {
  c->next = NULL;
  if (queue_tail) queue_tail->next = c;
  else queue_head = c;
  queue_tail = c;
  if (++stats.queued > stats.max_queued) stats.max_queued = stats.queued;
}

static void leave_slot(conn *c) {
  change_active(-1);
  if (c->fate != ANSWER) stats.lost += now() - c->entered;
  c->entered = 0;
  while (queue_head && stats.active < slots) {
    conn *next = queue_head;
    queue_head = next->next;
    if (!queue_head) queue_tail = NULL;
    stats.queued--;
    if (!next->gone) enter_slot(next);
    else release(next);
  }
}

// ---- requests

static void say_stats(conn *c, const char *path) {
  char body[512], head[160];
  double span = stats.last - stats.first;
  int length = snprintf(
      body, sizeof body,
      "{\"total\":%ld,\"refused\":%ld,\"cut\":%ld,\"hung\":%ld,\"slots\":%d,\"active\":%d,\"max_active\":%d,\"max_queued\":%d,"
      "\"busy_slot_ms\":%.1f,\"lost_slot_ms\":%.1f,\"span_ms\":%.1f,\"utilisation\":%.4f,\"first_epoch_ms\":%.1f,\"last_epoch_ms\":%.1f}",
      stats.total, stats.refused, stats.cut, stats.hung, slots, stats.active, stats.max_active, stats.max_queued, stats.busy, stats.lost, span,
      span > 0 ? stats.busy / (slots * span) : 0, stats.first_epoch, stats.last_epoch);
  snprintf(head, sizeof head,
           "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n", length);
  bytes whole = {0};
  append_text(&whole, head);
  append_text(&whole, body);
  say(c, &whole);
  free(whole.data);
  if (!strstr(path, "reset")) return;
  const char *found = strstr(path, "slots=");
  if (found) slots = atoi(found + 6);
  if ((found = strstr(path, "delay="))) delay_ms = atof(found + 6);
  if ((found = strstr(path, "sigma="))) sigma = atof(found + 6);
  int active = stats.active, queued = stats.queued;
  memset(&stats, 0, sizeof stats);
  stats.active = active;
  stats.queued = queued;
}

static int begins(const char *path, const char *with) { return !strncmp(path, with, strlen(with)); }

static void handle(conn *c, const char *path) {
  static const bytes missing = {.data = (char *)"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", .length = 45};
  if (begins(path, "/stats")) return say_stats(c, path);
  if (strstr(path, "/models")) return say(c, &missing);
  if (begins(path, "/fast")) {
    stats.total++;
    return say(c, &answer);
  }
  if (begins(path, "/burst")) {
    stats.total++;
    return say(c, &burst);
  }
  if (begins(path, "/paced")) {
    c->task = PACED;
    c->token = 0;
    say(c, &sse_head);
    return timer_add(now() + gap_ms, c);
  }
  int refuses = begins(path, "/refuse"), troubles = begins(path, "/trouble");
  if (!refuses && !troubles && !begins(path, "/delay")) return say(c, &missing);
  double chance = troubles ? uniform() : 1;
  if (chance < 0.01) {
    stats.refused++;
    return say(c, &refusal);
  }
  c->fate = chance < 0.015 ? CUT : chance < 0.016 ? HANG : ANSWER;
  if (stats.active < slots) {
    c->task = SLOT;
    return enter_slot(c);
  }
  if (refuses) {
    stats.refused++;
    return say(c, &refusal);
  }
  c->task = SLOT;
  wait_for_slot(c);
}

// Length of the request at the start of `in`, 0 while it is incomplete.
static size_t request_length(bytes *in) {
  char *end = memmem(in->data, in->length, "\r\n\r\n", 4);
  if (!end) return 0;
  size_t head = (size_t)(end - in->data) + 4;
  end[2] = 0;
  char *announced = strcasestr(in->data, "\r\ncontent-length:");
  size_t body = announced ? strtoul(announced + 17, NULL, 10) : 0;
  end[2] = '\r';
  return in->length >= head + body ? head + body : 0;
}

static void serve_next(conn *c) {
  while (c->task == NO_TASK && c->in.length) {
    size_t length = request_length(&c->in);
    if (!length) return;
    char path[256] = "";
    sscanf(c->in.data, "%*s %255s", path);
    memmove(c->in.data, c->in.data + length, c->in.length - length);
    c->in.length -= length;
    handle(c, path);
  }
}

static void finish(conn *c) {
  c->task = NO_TASK;
  stats.total++;
  if (c->gone) release(c);
  else serve_next(c);
}

static void next_token(conn *c) {
  if (c->gone) return finish(c);
  if (c->token == tokens) {
    say(c, &sse_tail);
    return finish(c);
  }
  say(c, &events[c->token++]);
  timer_add(now() + gap_ms, c);
}

static void run_due(void) {
  double t = now();
  while (heap_length && heap[0].due <= t) {
    conn *c = timer_take();
    if (c->task == PACED) {
      next_token(c);
      continue;
    }
    leave_slot(c);
    if (c->fate == CUT) {
      stats.cut++;
      cut(c);
    } else say(c, &answer);
    finish(c);
  }
  set_alarm();
}

static void receive(conn *c) {
  for (;;) {
    if (c->in.capacity < c->in.length + READ_STEP + 1) {
      c->in.capacity = (c->in.length + READ_STEP) * 2;
      c->in.data = must(realloc(c->in.data, c->in.capacity));
    }
    ssize_t n = recv(c->fd, c->in.data + c->in.length, READ_STEP, 0);
    if (n > 0) {
      c->in.length += (size_t)n;
      c->in.data[c->in.length] = 0;
      if (n < READ_STEP) break;
      continue;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) return leave(c);
    break;
  }
  serve_next(c);
}

// ---- answers

static void prepare(bytes *into, const char *status, const char *headers, const char *body) {
  char head[512];
  snprintf(head, sizeof head, "HTTP/1.1 %s\r\ncontent-type: application/json\r\n%scontent-length: %zu\r\n\r\n", status,
           headers, strlen(body));
  append_text(into, head);
  append_text(into, body);
}

static void append_event(bytes *to, const char *data) {
  char head[16];
  snprintf(head, sizeof head, "%zx\r\n", strlen(data));
  append_text(to, head);
  append_text(to, data);
  append_text(to, "\r\n");
}

static void prepare_answers(void) {
  prepare(&answer, "200 OK", "x-request-id: req_upstream\r\n",
          "{\"id\":\"chatcmpl-9f8e7d6c5b4a\",\"object\":\"chat.completion\",\"created\":1790000000,"
          "\"model\":\"upstream-model\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
          "\"The tide leaves the harbour twice a day, and twice a day the boats that lean on the mud stand up again "
          "as if nothing had happened to them.\"},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":"
          "{\"prompt_tokens\":42,\"completion_tokens\":36,\"total_tokens\":78,"
          "\"prompt_tokens_details\":{\"cached_tokens\":0}}}");
  prepare(&refusal, "429 Too Many Requests", "retry-after: 1\r\n",
          "{\"error\":{\"message\":\"every slot is taken\",\"type\":\"rate_limit_error\"}}");
  append_text(&sse_head, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
                         "transfer-encoding: chunked\r\n\r\n");
  const char *chunk = "data: {\"id\":\"chatcmpl-9f8e7d6c5b4a\",\"object\":\"chat.completion.chunk\","
                      "\"created\":1790000000,\"model\":\"upstream-model\",\"choices\":[";
  append(&burst, sse_head.data, sse_head.length);
  for (int i = 0; i < tokens; i++) {
    char data[512];
    snprintf(data, sizeof data, "%s{\"index\":0,\"delta\":{\"content\":\" word%03d\"},\"finish_reason\":%s}]}\n\n", chunk, i,
             i == tokens - 1 ? "\"stop\"" : "null");
    append_event(&events[i], data);
    append(&burst, events[i].data, events[i].length);
  }
  char tail[512];
  snprintf(tail, sizeof tail,
           "%s],\"usage\":{\"prompt_tokens\":42,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\ndata: [DONE]\n\n", chunk,
           tokens, 42 + tokens);
  append_event(&sse_tail, tail);
  append_text(&sse_tail, "0\r\n\r\n");
  append(&burst, sse_tail.data, sse_tail.length);
}

static int listen_somewhere(void) {
  int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof at;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, (void *)&at, sizeof at) || listen(fd, 4096) || getsockname(fd, (void *)&at, &length)) {
    perror("listen");
    exit(1);
  }
  printf("{\"port\":%d}\n", ntohs(at.sin_port));
  fflush(stdout);
  return fd;
}

static void accept_all(int listener) {
  int one = 1;
  for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    conn *c = must(calloc(1, sizeof *c));
    c->fd = fd;
    watch(c, EPOLL_CTL_ADD, EPOLLIN);
  }
}

static void add_plain(int fd, void *mark) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};
  epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

int main(int count, char **values) {
  if (count > 1) slots = atoi(values[1]);
  if (count > 2) delay_ms = atof(values[2]);
  if (count > 3) tokens = atoi(values[3]);
  if (count > 4) gap_ms = atof(values[4]);
  if (tokens < 1 || tokens > MAX_TOKENS) tokens = 50;
  prepare_answers();
  static char new_client, time_passed, parent;
  poller = epoll_create1(0);
  clock_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  int listener = listen_somewhere();
  add_plain(listener, &new_client);
  add_plain(clock_fd, &time_passed);
  add_plain(STDIN_FILENO, &parent);
  for (struct epoll_event ready[EVENTS];;) {
    int n = epoll_wait(poller, ready, EVENTS, -1);
    for (int i = 0; i < n; i++) {
      void *mark = ready[i].data.ptr;
      char byte[64];
      if (mark == &new_client) accept_all(listener);
      else if (mark == &time_passed) (void)!read(clock_fd, byte, 8);
      else if (mark == &parent) {
        if (read(STDIN_FILENO, byte, sizeof byte) <= 0) return 0;
      } else {
        conn *c = mark;
        if (ready[i].events & EPOLLOUT) flush(c);
        if (ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(c);
      }
    }
    run_due();
  }
}
