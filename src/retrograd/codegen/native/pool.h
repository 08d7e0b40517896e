/* One pool of threads for all kernels. */
#ifndef RETROGRAD_POOL_H
#define RETROGRAD_POOL_H
typedef void (*Task)(void *, long);
#define HIDDEN __attribute__((visibility("hidden")))
/* Run task(argument, 0 .. count - 1), on as many threads as there are; returns when all have run. The caller works too. */
HIDDEN void parallel(Task task, void *argument, long count);
HIDDEN void pool_start(void);
extern HIDDEN int pool_threads;
#define GRAIN 32768L /* elements of one task: what PyTorch splits work by */
/* What other extensions get of the pool: `_loops.pool` is a capsule of this. */
typedef struct {
  void (*parallel)(Task, void *, long);
  const int *threads;
} Pool;
#define POOL_NAME "retrograd.core._loops.pool"
#endif
