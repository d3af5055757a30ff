/* What to start, read strictly: `init_request.py` says how it is framed.
 *
 * The texts are used where they lie, each ended by its zero. Whatever is not a whole request and
 * nothing else is refused.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    REQUEST_BYTES = 1 << 20,
    TEXT_LEAST = 5, /* its length and the zero at its end */
    MOST_LIMITS = 16,
};

struct limit {
    uint64_t kind, soft, hard;
};

struct request {
    char **argv, **env, *cwd;
    struct limit limits[MOST_LIMITS];
    uint64_t limit_count;
};

struct reader {
    unsigned char *at, *end;
};

static int read_number(struct reader *from, int size, uint64_t *value) {
    if (from->end - from->at < size)
        return 0;
    *value = 0;
    for (int i = 0; i < size; i++)
        *value |= (uint64_t)*from->at++ << (8 * i);
    return 1;
}

static char *read_text(struct reader *from) {
    uint64_t length;
    if (!read_number(from, 4, &length) || (uint64_t)(from->end - from->at) <= length)
        return NULL;
    char *text = (char *)from->at;
    if (memchr(text, 0, length + 1) != text + length)
        return NULL;
    from->at += length + 1;
    return text;
}

/* Fill `space`, which has room for every text of a request, and move it behind what it got. */
static char **read_texts(struct reader *from, char ***space) {
    char **texts = *space;
    uint64_t count;
    if (!read_number(from, 4, &count))
        return NULL;
    while (count--)
        if ((*(*space)++ = read_text(from)) == NULL)
            return NULL;
    *(*space)++ = NULL;
    return texts;
}

static int parse_request(unsigned char *data, size_t size, char **space, struct request *into) {
    struct reader from = {data, data + size};
    into->argv = read_texts(&from, &space);
    if (into->argv == NULL || into->argv[0] == NULL || !into->argv[0][0])
        return 0;
    into->env = read_texts(&from, &space);
    if (into->env == NULL)
        return 0;
    for (char **variable = into->env; *variable; variable++)
        if (strchr(*variable, '=') == NULL || **variable == '=')
            return 0;
    into->cwd = read_text(&from);
    if (into->cwd == NULL || into->cwd[0] != '/')
        return 0;
    if (!read_number(&from, 4, &into->limit_count) || into->limit_count > MOST_LIMITS)
        return 0;
    for (uint64_t i = 0; i < into->limit_count; i++) {
        struct limit *limit = &into->limits[i];
        if (!read_number(&from, 4, &limit->kind) || limit->kind >= RLIM_NLIMITS ||
            !read_number(&from, 8, &limit->soft) || !read_number(&from, 8, &limit->hard) ||
            limit->soft > limit->hard || limit->hard > INT64_MAX)
            return 0;
    }
    return from.at == from.end;
}

static int read_request(int fd, struct request *into) {
    static unsigned char data[REQUEST_BYTES + 1];
    static char *texts[REQUEST_BYTES / TEXT_LEAST + 2];
    size_t size = 0;
    ssize_t got;
    while ((got = pread(fd, data + size, sizeof data - size, size)) > 0)
        size += got;
    if (got < 0)
        return 0;
    errno = EINVAL;
    return size <= REQUEST_BYTES && parse_request(data, size, texts, into);
}
