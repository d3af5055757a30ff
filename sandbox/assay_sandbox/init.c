/* Process 1 of a jail, compiled: starts one command at a time and reports how each ended.
 *
 * It is init.py once more, which says what a jail relies on; both answer alike. Nothing is
 * allocated, and when a call fails that must not fail, this process ends, and with it everything
 * in the jail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init_request.h"

enum {
    GREETING_BYTES = 1 << 17,
    MESSAGE_BYTES = 4096,
    MOST_FDS = 64,
    LEAST_FDS = 4, /* request, stdin, stdout, stderr */
    RESERVED_FD = 64,
    NUMBER_BYTES = 10,
};

static const int FORWARDED[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM};

/* How a command ended, as wait status, and what all processes took that were reaped. */
struct ending {
    int status;
    uint64_t cpu; /* microseconds */
    long peak_kib;
};

/* Our descriptors: the supervisor's socket, the queue of signals, a child's word to process 1. */
static int control, signals, report;

static void must(int held) {
    if (!held)
        _exit(1);
}

/* ---- in the child: becoming the command -------------------------------------------------- */

static void give_up(const char *stage) {
    char text[64];
    int size = snprintf(text, sizeof text, "%s:%d", stage, errno);
    _exit(write(report, text, size) == size ? 127 : 126);
}

static int move_up(int fd) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, RESERVED_FD);
    if (moved < 0)
        give_up("descriptors");
    return moved;
}

static void set_limit(const struct limit *wanted) {
    struct rlimit limit;
    if (getrlimit(wanted->kind, &limit) < 0)
        give_up("limits");
    limit.rlim_cur = wanted->soft < limit.rlim_max ? wanted->soft : limit.rlim_max;
    limit.rlim_max = wanted->hard < limit.rlim_max ? wanted->hard : limit.rlim_max;
    if (setrlimit(wanted->kind, &limit) < 0)
        give_up("limits");
}

static void execute(const struct request *request) {
    const char *name = request->argv[0], *path = "/usr/bin:/bin";
    if (strchr(name, '/')) {
        execve(name, request->argv, request->env);
        return;
    }
    for (char **variable = request->env; *variable; variable++)
        if (strncmp(*variable, "PATH=", 5) == 0)
            path = *variable + 5;
    int problem = ENOENT;
    for (size_t length; *path; path += length + (path[length] == ':')) {
        char program[PATH_MAX];
        length = strcspn(path, ":");
        if (length == 0)
            continue;
        errno = ENAMETOOLONG;
        if (length < sizeof program && snprintf(program, sizeof program, "%.*s/%s", (int)length,
                                                path, name) < (int)sizeof program)
            execve(program, request->argv, request->env);
        if (problem == ENOENT)
            problem = errno;
    }
    errno = problem;
}

static void become(const int *fds, int count) {
    struct request request;
    sigset_t none;
    int high[MOST_FDS];
    sigemptyset(&none);
    if (setsid() < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        give_up("session");
    if (!read_request(fds[0], &request))
        give_up("request");
    report = move_up(report);
    for (int i = 1; i < count; i++)
        high[i] = move_up(fds[i]);
    for (int i = 1; i < count; i++)
        if (dup2(high[i], i - 1) < 0)
            give_up("descriptors");
    if (chdir(request.cwd) < 0)
        give_up("cwd");
    for (uint64_t i = 0; i < request.limit_count; i++)
        set_limit(&request.limits[i]);
    execute(&request);
    give_up("exec");
}

/* ---- process 1 --------------------------------------------------------------------------- */

static void say(const char *message, int size) {
    must(size > 0 && send(control, message, size, MSG_NOSIGNAL) == size);
}

/* The next message, ended by a zero; the jail ends when the supervisor is gone. */
static int receive(char *message, int *fds) {
    union {
        char space[CMSG_SPACE(MOST_FDS * sizeof(int))];
        struct cmsghdr aligned;
    } extra;
    struct iovec into = {message, MESSAGE_BYTES - 1};
    struct msghdr header = {.msg_iov = &into, .msg_iovlen = 1, .msg_control = extra.space,
                            .msg_controllen = sizeof extra.space};
    ssize_t size = recvmsg(control, &header, MSG_CMSG_CLOEXEC);
    if (size == 0)
        _exit(0);
    must(size > 0 && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)));
    message[size] = 0;
    must(strlen(message) == (size_t)size);
    int count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
        must(part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS && count == 0);
        count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(part), count * sizeof(int));
    }
    return count;
}

static void close_all(const int *fds, int count) {
    while (count--)
        must(close(fds[count]) == 0);
}

/* Empty the queue of signals; what was sent from outside the jail is for the command. */
static void forward(pid_t command) {
    struct signalfd_siginfo got;
    while (read(signals, &got, sizeof got) == sizeof got)
        if (command && got.ssi_signo != SIGCHLD && got.ssi_code == SI_USER && got.ssi_pid == 0)
            kill(command, got.ssi_signo);
    must(errno == EAGAIN);
}

/* Reap what is dead; with `kill_all`, kill until none is left. Whether the command was reaped. */
static int reap(int kill_all, pid_t command, struct ending *ending) {
    int status, found = 0;
    struct rusage used;
    pid_t pid;
    while (1) {
        must(!kill_all || kill(-1, SIGKILL) == 0 || errno == ESRCH);
        if ((pid = wait4(-1, &status, kill_all ? 0 : WNOHANG, &used)) <= 0)
            break;
        ending->cpu += (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * UINT64_C(1000000) +
                       used.ru_utime.tv_usec + used.ru_stime.tv_usec;
        if (used.ru_maxrss > ending->peak_kib)
            ending->peak_kib = used.ru_maxrss;
        if (pid == command)
            ending->status = status, found = 1;
    }
    must(pid == 0 || errno == ECHILD);
    return found;
}

static uint64_t microseconds(void) {
    struct timespec now;
    must(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return now.tv_sec * UINT64_C(1000000) + now.tv_nsec / 1000;
}

static void supervise(const char *number, pid_t command) {
    char message[MESSAGE_BYTES], killing[MESSAGE_BYTES];
    int fds[MOST_FDS];
    struct ending ending = {0, 0, 0};
    struct pollfd watched[] = {{control, POLLIN, 0}, {signals, POLLIN, 0}};
    uint64_t wall = microseconds();
    snprintf(killing, sizeof killing, "kill %s", number);
    say(message, snprintf(message, sizeof message, "started %s", number));
    do {
        while (poll(watched, 2, -1) < 0)
            must(errno == EINTR);
        forward(command);
        if (watched[0].revents) {
            close_all(fds, receive(message, fds));
            if (strcmp(message, killing) == 0)
                break;
        }
    } while (!reap(0, command, &ending));
    wall = microseconds() - wall;
    reap(1, command, &ending);
    int signalled = WIFSIGNALED(ending.status);
    say(message, snprintf(message, sizeof message, "done %s %s %d %ju.%06ju %ju.%06ju %ld", number,
                          signalled ? "signalled" : "exited",
                          signalled ? WTERMSIG(ending.status) : WEXITSTATUS(ending.status),
                          (uintmax_t)ending.cpu / 1000000, (uintmax_t)ending.cpu % 1000000,
                          (uintmax_t)wall / 1000000, (uintmax_t)wall % 1000000, ending.peak_kib));
}

static void serve(const char *number, int *fds, int count) {
    char message[MESSAGE_BYTES], problem[64] = "";
    int ends[2];
    struct ending ending = {0, 0, 0};
    must(count >= LEAST_FDS && pipe2(ends, O_CLOEXEC) == 0);
    forward(0);
    report = ends[1];
    pid_t command = fork();
    if (command == 0)
        become(fds, count);
    if (command < 0)
        snprintf(problem, sizeof problem, "fork:%d", errno);
    close_all(&report, 1);
    close_all(fds, count);
    must(command < 0 || read(ends[0], problem, sizeof problem - 1) >= 0);
    close_all(ends, 1);
    if (problem[0] == 0) {
        supervise(number, command);
        return;
    }
    reap(1, command, &ending);
    say(message, snprintf(message, sizeof message, "failed %s %s", number, problem));
}

/* Default action for all signals, which for process 1 is to ignore them; some are queued. */
static void take_signals(void) {
    sigset_t queued;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&queued);
    sigaddset(&queued, SIGCHLD);
    for (size_t i = 0; i < sizeof FORWARDED / sizeof *FORWARDED; i++)
        sigaddset(&queued, FORWARDED[i]);
    must(sigprocmask(SIG_SETMASK, &queued, NULL) == 0);
    must((signals = signalfd(-1, &queued, SFD_NONBLOCK | SFD_CLOEXEC)) >= 0);
}

static void greet(void) {
    static char greeting[GREETING_BYTES];
    size_t size = snprintf(greeting, sizeof greeting, "ready\n");
    ssize_t got;
    int mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    must(mounts >= 0);
    while ((got = read(mounts, greeting + size, sizeof greeting - size)) > 0)
        size += got;
    must(got == 0 && size < sizeof greeting && close(mounts) == 0);
    say(greeting, size);
}

int main(int argc, char **argv) {
    char message[MESSAGE_BYTES], number[NUMBER_BYTES];
    int fds[MOST_FDS], end = 0;
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    must(argc == 2 && sscanf(argv[1], "%d%n", &control, &end) == 1 && !argv[1][end]);
    must(fcntl(control, F_SETFD, FD_CLOEXEC) == 0);
    take_signals();
    umask(022);
    must(mkdir("/tmp/home", 0700) == 0);
    greet();
    while (1) {
        int count = receive(message, fds);
        end = 0;
        if (sscanf(message, "start %9[0-9]%n", number, &end) == 1 && !message[end])
            serve(number, fds, count);
        else
            close_all(fds, count);
    }
}
