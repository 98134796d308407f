/* What the files of Shoal's libcuda.so.1 share. Names that programs see are the driver API's; all others are hidden.
 *
 * The library needs glibc alone, 2.17 or newer: it is loaded into other people's programs and images. */
#ifndef SHOAL_H
#define SHOAL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

typedef int CUresult;

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    DEVICE_UNAVAILABLE = 46,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    FILE_NOT_FOUND = 301,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    INVALID_ADDRESS_SPACE = 717,
    CONTEXT_IS_DESTROYED = 709,
    HOST_MEMORY_NOT_REGISTERED = 713,
    HOST_MEMORY_ALREADY_REGISTERED = 712,
    NOT_PERMITTED = 800,
    NOT_SUPPORTED = 801,
};

#define MAX_DEVICES 64
#define HEADER 16
#define CHUNK ((size_t)16 << 20) /* bytes of a copy that travel in one message */

/* A connection to one server. `lock` is of sending, so that messages follow one another whole. Replies come in any
 * order: of the threads that wait for one, one at a time reads, for itself or whoever the reply is for; `replies` is of
 * `waiters` and `reading`, and `news` tells of both. Whoever holds both locks has taken `lock` first. */
struct server {
    char *address;
    pthread_mutex_t lock, replies;
    pthread_cond_t news;
    struct waiter *waiters;
    int reading;
    int socket;        /* -1: not connected */
    volatile int lost; /* once and for all */
    uint32_t sequence;
    uint8_t *pending; /* posted messages that wait to be sent */
    size_t pending_bytes;
    uint32_t version;
    struct device *offered; /* what the server has; `offers` of them */
    uint32_t offers;
};

struct attribute {
    int32_t number, value;
};

struct device {
    struct server *server;
    uint32_t number; /* among those of its server */
    char *name, *bus;
    uint8_t uuid[16];
    uint64_t memory;
    struct attribute *attributes;
    uint32_t attribute_count;
    void *primary; /* handle of the primary context */
    unsigned retained, flags;
};

struct context {
    int device;
    uint32_t id; /* the server's */
    unsigned flags;
    int primary;
    int closed; /* what it held is gone; the handle stays known, so that its use is told from nonsense */
    uint64_t limits[16];
};

struct function {
    char *name;
    struct module *module;
    uint64_t id; /* the server's */
    uint32_t parameter_count, bytes, attribute_count;
    struct attribute *parameters; /* offset and size */
    struct attribute *attributes;
    void *handle;
};

struct module {
    void *context; /* handle */
    uint32_t id;   /* the server's */
    struct function *functions;
    uint32_t function_count;
    void *handle;
};

struct kernel {
    struct library *library;
    char *name;
    void *handle;
};

/* One piece of code, or several that are linked with one another. */
struct image {
    uint8_t *packed; /* pieces, each with its size before it */
    size_t bytes;
    uint32_t pieces;
};

enum kind { FREE, CONTEXT, MODULE, FUNCTION, LIBRARY, KERNEL, LINK };

/* A call under way: the message, built field by field. */
struct call {
    struct server *server;
    uint32_t context;
    uint16_t message;
    uint32_t bytes;
    uint8_t body[4096];
};

/* `into`, where given, takes the data of a reply that succeeds if it has just `room` bytes; else `data` has it. */
struct reply {
    void *into;
    size_t room;
    uint8_t *data;
    size_t bytes;
    uint8_t small[64];
};

/* A thread that waits for the reply to the message of this number. */
struct waiter {
    uint32_t sequence;
    struct reply *reply;
    CUresult status;
    int done;
    struct waiter *next;
};

struct reader {
    const uint8_t *at, *end;
    int short_of; /* something was read beyond the end */
};

/* process.c */
extern struct device shoal_devices[MAX_DEVICES];
extern int shoal_device_count, shoal_ready;
CUresult shoal_initialize(void);
void shoal_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* connection.c */
CUresult shoal_connect(struct server *server, const char *token);
void shoal_begin(struct call *call, struct server *server, uint16_t message, uint32_t context);
void put_u32(struct call *call, uint32_t value);
void put_u64(struct call *call, uint64_t value);
CUresult shoal_post(struct call *call, const void *tail, size_t bytes);
CUresult shoal_ask(struct call *call, const void *tail, size_t bytes, struct reply *reply);
CUresult shoal_ask_plainly(struct call *call);
CUresult shoal_lose(struct server *server, const char *why);
void shoal_flush_soon(struct server *server);
int shoal_start_thread(void *(*run)(void *), void *given);
void shoal_forget_flusher(void);

/* replies.c */
void shoal_expect(struct server *server, struct waiter *waiter, struct reply *reply);
CUresult shoal_await(struct server *server, struct waiter *waiter);
void shoal_free_reply(struct reply *reply);

/* callback.c */
extern __thread int shoal_in_callback; /* whether this thread runs a function of the program */
int shoal_callbacks_outstanding(void);
void shoal_forget_callbacks(void);

/* reading.c */
uint32_t get_u16(struct reader *reader);
uint32_t get_u32(struct reader *reader);
uint64_t get_u64(struct reader *reader);
const uint8_t *get_bytes(struct reader *reader, size_t count);
char *get_text(struct reader *reader);
struct attribute *get_attributes(struct reader *reader, uint32_t *count);

/* handle.c */
void *shoal_new_handle(enum kind kind, void *object);
void *shoal_object(enum kind kind, void *handle);
void shoal_drop_handle(void *handle);
void shoal_forget_handles(void);

/* context.c */
CUresult shoal_current(struct context **context);
CUresult shoal_current_call(struct call *call, uint16_t message);
CUresult shoal_context_call(struct call *call, uint16_t message, void *context);
void *shoal_current_handle(void);
void shoal_forget_contexts(void);
uint64_t shoal_stream(void *stream);
CUresult shoal_open_context(int device, unsigned flags, int primary, void **handle);

/* device.c */
int shoal_attribute(int device, int number);

/* visible.c */
CUresult shoal_choose_visible(void);

/* image.c */
CUresult shoal_read_image(const void *code, struct image *image);
CUresult shoal_read_file(const char *name, uint8_t **data, size_t *bytes);
CUresult shoal_add_piece(struct image *image, const void *data, size_t bytes);
CUresult shoal_pack_link(const struct image *image, uint8_t **packed, size_t *bytes);
void shoal_free_image(struct image *image);

/* module.c */
struct jit_log {
    char *buffer;
    size_t room;
    void **told; /* where the size that was written goes */
};
struct jit_log shoal_error_log(unsigned count, const int *options, void **values);
CUresult shoal_load(void *context, const struct image *image, struct jit_log log, struct module **loaded);
void shoal_unload(struct module *module);
void shoal_keep_spare(struct module *module, const struct image *image);
void shoal_forget_spares(void *context);
struct function *shoal_find_function(struct module *module, const char *name);
CUresult shoal_function(void *handle, struct function **function);
CUresult shoal_function_id(void *handle, uint64_t *id);
CUresult shoal_global(struct module *module, const char *name, uint64_t *address, size_t *bytes);

/* library.c */
CUresult shoal_kernel_function(struct kernel *kernel, struct function **function);
void shoal_forget_modules(void *context);
void shoal_forget_libraries(void);

/* memory.c */
int shoal_is_device_address(uint64_t address, void **context, uint64_t *base, size_t *bytes);
int shoal_is_pinned(const void *address, void **base, size_t *bytes);
void shoal_forget_memory(void *context);
void shoal_forget_all_memory(void);

/* names.c */
CUresult shoal_refuse(const char *name);

#endif
