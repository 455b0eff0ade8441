// What ring and SQLite want of a C library, as bionic has it on 64-bit processors since API level 21.
//
// Only what they use: a call that is missing here fails the build. Every number and layout of
// this file is held against the `libc` crate's in device_probe/android/native/src/layouts.rs;
// change them together. Which functions exist is checked by the linker.
#pragma once
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// sys/types.h
typedef long ssize_t, off_t, time_t, suseconds_t, pthread_t, pthread_mutexattr_t;
typedef int pid_t;
typedef unsigned uid_t, gid_t, mode_t, useconds_t;
typedef unsigned long dev_t, ino_t;
typedef int64_t off64_t;

// string.h
void *memchr(const void *, int, size_t);
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
size_t strlen(const char *);
size_t strspn(const char *, const char *);
size_t strcspn(const char *, const char *);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
char *strchr(const char *, int);
char *strrchr(const char *, int);

// stdlib.h
void *malloc(size_t);
void *realloc(void *, size_t);
void free(void *);
char *getenv(const char *);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
void abort(void) __attribute__((noreturn));

// stdio.h
enum { FILENAME_MAX = 4096 };

// math.h
#define INFINITY __builtin_inff()
#define isnan(x) __builtin_isnan(x)
double fabs(double);
double log(double);

// errno.h: the numbers are Linux's
int *__errno(void);
#define errno (*__errno())
enum { EPERM = 1, ENOENT = 2, EINTR = 4, EIO = 5, EAGAIN = 11, EACCES = 13, EBUSY = 16 };
enum { EEXIST = 17, ENOTDIR = 20, EISDIR = 21, EINVAL = 22, ENOSPC = 28, ERANGE = 34 };
enum { EDEADLK = 35, ENOLCK = 37, ENOTCONN = 107, ETIMEDOUT = 110 };

// fcntl.h
struct flock {
  short l_type, l_whence;
  off_t l_start, l_len;
  pid_t l_pid;
};
enum { O_RDONLY = 0, O_RDWR = 2, O_CREAT = 0100, O_EXCL = 0200, O_CLOEXEC = 02000000 };
#if defined(__aarch64__)
enum { O_NOFOLLOW = 0100000 };
#else
enum { O_NOFOLLOW = 0400000 };
#endif
#define O_CLOEXEC O_CLOEXEC
#define O_NOFOLLOW O_NOFOLLOW
enum { F_GETFD = 1, F_SETFD = 2, F_GETLK = 5, F_SETLK = 6, F_SETLKW = 7, FD_CLOEXEC = 1 };
#define FD_CLOEXEC FD_CLOEXEC
enum { F_RDLCK = 0, F_WRLCK = 1, F_UNLCK = 2 };
int open(const char *, int, ...);
int fcntl(int, int, ...);

// unistd.h
enum { SEEK_SET = 0, SEEK_CUR = 1, SEEK_END = 2, F_OK = 0, R_OK = 4, W_OK = 2, X_OK = 1 };
enum { _SC_PAGESIZE = 0x27 };
#define _SC_PAGESIZE _SC_PAGESIZE
int access(const char *, int);
int close(int);
int fchown(int, uid_t, gid_t);
int fsync(int);
int ftruncate(int, off_t);
int rmdir(const char *);
int unlink(const char *);
char *getcwd(char *, size_t);
uid_t geteuid(void);
pid_t getpid(void);
off_t lseek(int, off_t, int);
ssize_t pread(int, void *, size_t, off_t);
ssize_t pwrite(int, const void *, size_t, off_t);
ssize_t read(int, void *, size_t);
ssize_t write(int, const void *, size_t);
ssize_t readlink(const char *, char *, size_t);
long sysconf(int);

// time.h, sys/time.h
struct timespec {
  time_t tv_sec;
  long tv_nsec;
};
struct timeval {
  time_t tv_sec;
  suseconds_t tv_usec;
};
struct tm {
  int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
  long tm_gmtoff;
  const char *tm_zone;
};
time_t time(time_t *);
int gettimeofday(struct timeval *, void *);
int utimes(const char *, const struct timeval[2]);
int nanosleep(const struct timespec *, struct timespec *);
struct tm *localtime_r(const time_t *, struct tm *);

// sys/stat.h
struct stat {
#if defined(__aarch64__)
  dev_t st_dev;
  ino_t st_ino;
  mode_t st_mode;
  unsigned st_nlink;
  uid_t st_uid;
  gid_t st_gid;
  dev_t st_rdev;
  unsigned long pad1;
  off_t st_size;
  int st_blksize, pad2;
  long st_blocks;
#else
  dev_t st_dev;
  ino_t st_ino;
  unsigned long st_nlink;
  mode_t st_mode;
  uid_t st_uid;
  gid_t st_gid;
  unsigned pad0;
  dev_t st_rdev;
  off_t st_size;
  long st_blksize, st_blocks;
#endif
  time_t st_atime;
  long st_atime_nsec;
  time_t st_mtime;
  long st_mtime_nsec;
  time_t st_ctime;
  long st_ctime_nsec;
#if defined(__aarch64__)
  unsigned reserved[2];
#else
  long reserved[3];
#endif
};
#define S_IFMT 0170000
#define S_ISDIR(mode) (((mode)&S_IFMT) == 0040000)
#define S_ISREG(mode) (((mode)&S_IFMT) == 0100000)
#define S_ISLNK(mode) (((mode)&S_IFMT) == 0120000)
int stat(const char *, struct stat *);
int fstat(int, struct stat *);
int lstat(const char *, struct stat *);
int mkdir(const char *, mode_t);
int fchmod(int, mode_t);

// sys/mman.h
enum { PROT_READ = 1, PROT_WRITE = 2, MAP_SHARED = 1, MREMAP_MAYMOVE = 1 };
#define MAP_FAILED ((void *)-1)
#define MREMAP_MAYMOVE MREMAP_MAYMOVE
void *mmap(void *, size_t, int, int, int, off_t);
void *mremap(void *, size_t, size_t, int, ...);
int munmap(void *, size_t);

// pthread.h
typedef struct {
  int value;
  char reserved[36];
} pthread_mutex_t;
#define PTHREAD_MUTEX_INITIALIZER {0, {0}}
enum { PTHREAD_MUTEX_RECURSIVE = 1 };
int pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *);
int pthread_mutex_destroy(pthread_mutex_t *);
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_trylock(pthread_mutex_t *);
int pthread_mutex_unlock(pthread_mutex_t *);
int pthread_mutexattr_init(pthread_mutexattr_t *);
int pthread_mutexattr_settype(pthread_mutexattr_t *, int);
int pthread_mutexattr_destroy(pthread_mutexattr_t *);

// dlfcn.h
enum { RTLD_NOW = 2, RTLD_GLOBAL = 0x100 };
void *dlopen(const char *, int);
void *dlsym(void *, const char *);
int dlclose(void *);
char *dlerror(void);

// What layouts.rs says of the crate.
#if defined(__aarch64__)
_Static_assert(sizeof(struct stat) == 128 && offsetof(struct stat, st_mode) == 16, "stat");
_Static_assert(offsetof(struct stat, st_uid) == 24, "stat");
#else
_Static_assert(sizeof(struct stat) == 144 && offsetof(struct stat, st_mode) == 24, "stat");
_Static_assert(offsetof(struct stat, st_uid) == 28, "stat");
#endif
_Static_assert(offsetof(struct stat, st_ino) == 8 && offsetof(struct stat, st_size) == 48, "stat");
_Static_assert(offsetof(struct stat, st_mtime) == 88, "stat");
_Static_assert(sizeof(struct flock) == 32 && offsetof(struct flock, l_start) == 8, "flock");
_Static_assert(offsetof(struct flock, l_pid) == 24, "flock");
_Static_assert(sizeof(struct tm) == 56 && offsetof(struct tm, tm_gmtoff) == 40, "tm");
_Static_assert(sizeof(struct timespec) == 16 && sizeof(struct timeval) == 16, "times");
_Static_assert(sizeof(pthread_mutex_t) == 40 && sizeof(pthread_mutexattr_t) == 8, "mutexes");
