/* Reads requests from stdin, each after its length, and writes what the compiled init makes of
 * each: its length and the same request framed anew, or a length of zero for one that is refused.
 */
#include <stdio.h>
#include <stdlib.h>

#include "init_request.h"

static unsigned char framed[2 * REQUEST_BYTES];
static uint32_t used;

static void put(const void *bytes, size_t size) {
    memcpy(framed + used, bytes, size);
    used += size;
}

static void put_text(const char *text) {
    uint32_t length = strlen(text);
    put(&length, 4);
    put(text, length + 1);
}

static void put_texts(char **texts) {
    uint32_t count = 0;
    while (texts[count])
        count++;
    put(&count, 4);
    for (uint32_t at = 0; at < count; at++)
        put_text(texts[at]);
}

int main(void) {
    uint32_t size;
    while (fread(&size, 4, 1, stdin) == 1) {
        /* Not a byte more than the init would have, so that a sanitizer sees what is too far. */
        unsigned char *data = malloc(size);
        char **space = malloc((size / TEXT_LEAST + 2) * sizeof *space);
        struct request request;
        if (size && fread(data, size, 1, stdin) != 1)
            return 1;
        used = 0;
        if (parse_request(data, size, space, &request)) {
            uint32_t count = request.limit_count;
            put_texts(request.argv);
            put_texts(request.env);
            put_text(request.cwd);
            put(&count, 4);
            for (uint32_t at = 0; at < count; at++) {
                uint32_t kind = request.limits[at].kind;
                put(&kind, 4);
                put(&request.limits[at].soft, 8);
                put(&request.limits[at].hard, 8);
            }
        }
        fwrite(&used, 4, 1, stdout);
        fwrite(framed, 1, used, stdout);
        fflush(stdout);
        free(data);
        free(space);
    }
    return 0;
}
