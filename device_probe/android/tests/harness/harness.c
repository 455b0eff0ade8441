// Stands in for a phone around libprobe.so: loads it, and calls its JNI functions as lines on
// stdin say. Runs under qemu-user with musl's loader for arm64, so threads and sockets are real.
//
//   METHOD BYTES      start, link, peer, qr: called with the rest of the line
//   METHOD HANDLE     statusOf, reportOf, stopOf, freeOf
//
// Each line is answered by one on stdout: `ok TEXT`, `null`, or `throws CLASS: TEXT`. The fake JNI
// has the few functions that the library may use; any other ends the process.
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  size_t length;
  char bytes[];
} Array;

static char thrown[4096];

// What bionic has and musl has not, or numbers otherwise. The executable's symbols come first.
int *__errno(void) { return &errno; }
int __system_property_get(const char *name, char *value) { (void)name, *value = 0; return 0; }
void __assert2(const char *file, int line, const char *function, const char *text) {
  fprintf(stderr, "%s:%d %s: %s\n", file, line, function, text);
  abort();
}
long sysconf(int name) {
  switch (name) {
    case 0x27: case 0x28: return getpagesize();
    case 0x60: case 0x61: return 2;  // processors
    case 0x62: return 1 << 18;       // pages of memory
    default: errno = EINVAL; return -1;
  }
}

// JNI, by the places in its table (JNI specification, "Interface Function Table").
static int exception_check(void *env) { (void)env; return thrown[0] != 0; }
static void *find_class(void *env, const char *name) { (void)env; return strdup(name); }
static int throw_new(void *env, void *class, const char *text) {
  (void)env;
  snprintf(thrown, sizeof thrown, "%s: %s", (char *)class, text);
  return 0;
}
static void delete_local(void *env, void *object) { (void)env, (void)object; }
static int array_length(void *env, Array *array) { (void)env; return (int)array->length; }
static Array *new_array(void *env, int length) {
  (void)env;
  Array *array = calloc(1, sizeof *array + length);
  array->length = length;
  return array;
}
static void get_region(void *env, Array *array, int start, int length, char *to) {
  (void)env;
  memcpy(to, array->bytes + start, length);
}
static void set_region(void *env, Array *array, int start, int length, const char *from) {
  (void)env;
  memcpy(array->bytes + start, from, length);
}
static void unexpected(void) {
  fputs("the library used a JNI function that the harness lacks\n", stderr);
  abort();
}

static void *table[235];
static void **environment = table;

static void fill_table(void) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) table[i] = (void *)unexpected;
  table[6] = (void *)find_class;
  table[14] = (void *)throw_new;
  table[23] = (void *)delete_local;
  table[171] = (void *)array_length;
  table[176] = (void *)new_array;
  table[200] = (void *)get_region;
  table[208] = (void *)set_region;
  table[228] = (void *)exception_check;
}

static void answer(Array *array) {
  if (thrown[0]) {
    printf("throws %s\n", thrown);
  } else if (!array) {
    puts("null");
  } else {
    fputs("ok ", stdout);
    fwrite(array->bytes, 1, array->length, stdout);
    putchar('\n');
  }
  fflush(stdout);
}

static void call(void *library, const char *method, const char *rest) {
  char name[128];
  snprintf(name, sizeof name, "Java_org_pocketsim_probe_NativeEngine_%s", method);
  void *function = dlsym(library, name);
  if (!function) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  thrown[0] = 0;
  if (strstr(method, "Of")) {
    Array *(*by_handle)(void *, void *, int64_t) = function;
    Array *result = by_handle(&environment, NULL, atoll(rest));
    int is_void = !strcmp(method, "stopOf") || !strcmp(method, "freeOf");
    answer(is_void ? NULL : result);
    return;
  }
  Array *bytes = new_array(NULL, (int)strlen(rest));
  memcpy(bytes->bytes, rest, strlen(rest));
  if (!strcmp(method, "start")) {
    int64_t (*start)(void *, void *, Array *) = function;
    int64_t handle = start(&environment, NULL, bytes);
    if (thrown[0]) answer(NULL);
    else printf("ok %lld\n", (long long)handle), fflush(stdout);
  } else {
    Array *(*by_bytes)(void *, void *, Array *) = function;
    answer(by_bytes(&environment, NULL, bytes));
  }
}

int main(int count, char **arguments) {
  void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (!library) {
    fprintf(stderr, "%s\n", count == 2 ? dlerror() : "usage: harness libprobe.so");
    return 1;
  }
  fill_table();
  static char line[65536];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    char *rest = strchr(line, ' ');
    if (!rest) return 1;
    *rest++ = 0;
    call(library, line, rest);
  }
  return 0;
}
