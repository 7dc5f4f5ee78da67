/* While the file READ_ONLY_FLAG is there, nothing below READ_ONLY_FOLDER can be changed (EROFS), not
   even by files that are open for writing: as on a file system that the kernel made read-only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_read_only(void) {
    const char *flag = getenv("READ_ONLY_FLAG");
    return flag != NULL && access(flag, F_OK) == 0;
}

static int is_inside(const char *path) {
    const char *folder = getenv("READ_ONLY_FOLDER");
    char here[PATH_MAX], whole[2 * PATH_MAX];
    if (folder == NULL || path == NULL) return 0;
    if (path[0] != '/' && getcwd(here, sizeof here) != NULL) {
        snprintf(whole, sizeof whole, "%s/%s", here, path);
        path = whole;
    }
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int refuses_path(const char *path) {
    if (!is_read_only() || !is_inside(path)) return 0;
    errno = EROFS;
    return 1;
}

static int refuses_file(int file) {
    char link[64], path[PATH_MAX];
    ssize_t length;
    if (!is_read_only()) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!is_inside(path)) return 0;
    errno = EROFS;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define CHANGES_FILE(type, name, parameters, arguments)  \
    type name parameters {                               \
        return refuses_file(file) ? -1 : NEXT(name) arguments; \
    }

CHANGES_FILE(ssize_t, write, (int file, const void *from, size_t size), (file, from, size))
CHANGES_FILE(ssize_t, writev, (int file, const struct iovec *from, int count), (file, from, count))
CHANGES_FILE(ssize_t, pwrite, (int file, const void *from, size_t size, off_t at), (file, from, size, at))
CHANGES_FILE(ssize_t, pwrite64, (int file, const void *from, size_t size, off64_t at), (file, from, size, at))
CHANGES_FILE(int, ftruncate, (int file, off_t size), (file, size))
CHANGES_FILE(int, ftruncate64, (int file, off64_t size), (file, size))

#define CHANGES_PATH(name, parameters, arguments)              \
    int name parameters {                                      \
        return refuses_path(path) ? -1 : NEXT(name) arguments; \
    }

CHANGES_PATH(unlink, (const char *path), (path))
CHANGES_PATH(rename, (const char *path, const char *to), (path, to))
CHANGES_PATH(mkdir, (const char *path, mode_t mode), (path, mode))

#define OPENS(name, parameters, arguments)                                    \
    int name parameters {                                                     \
        mode_t mode = 0;                                                      \
        if (flags & (O_CREAT | O_TMPFILE)) {                                  \
            va_list rest;                                                     \
            va_start(rest, flags);                                            \
            mode = va_arg(rest, mode_t);                                      \
            va_end(rest);                                                     \
        }                                                                     \
        if ((flags & O_ACCMODE) != O_RDONLY && refuses_path(path)) return -1; \
        return NEXT(name) arguments;                                          \
    }

OPENS(open, (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPENS(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))
