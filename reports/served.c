/* served.c - see served.h */
#include "reports/served.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A store as it is open. It is closed when it is no longer the current one and its last view ends. */
struct served_store {
    struct store *store;
    unsigned views;
    bool building; /* a thread builds the catalogue */
    struct catalogue *catalogue;
};

struct served {
    char *path;
    pthread_mutex_t mutex;
    pthread_cond_t built;
    struct served_store *current; /* NULL while the store is gone */
};

/* The caller holds the mutex, but for a served that nobody else knows. */
static bool open_current(struct served *served, struct error *err)
{
    struct served_store *store = calloc(1, sizeof *store);
    if (!store)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    if (!(store->store = store_open(served->path, STORE_READ, false, err))) {
        free(store);
        return false;
    }
    served->current = store;
    return true;
}

/* Closes a store that is neither current nor viewed. */
static void let_go(struct served *served, struct served_store *store)
{
    if (store == served->current || store->views)
        return;
    catalogue_release(store->catalogue);
    store_close(store->store);
    free(store);
}

struct served *served_open(const char *path, struct error *err)
{
    struct served *served = calloc(1, sizeof *served);
    if (!served || !(served->path = strdup(path))) {
        free(served);
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&served->mutex, NULL);
    pthread_cond_init(&served->built, NULL);
    if (open_current(served, err))
        return served;
    served_close(served);
    return NULL;
}

void served_close(struct served *served)
{
    if (!served)
        return;
    struct served_store *store = served->current;
    served->current = NULL;
    if (store)
        let_go(served, store);
    pthread_cond_destroy(&served->built);
    pthread_mutex_destroy(&served->mutex);
    free(served->path);
    free(served);
}

/* Makes sure that the current store is what the path leads to. The caller holds the mutex. */
static bool refresh(struct served *served, struct error *err)
{
    struct served_store *old = served->current;
    struct error why = {0};
    if (old && store_in_place(old->store, &why))
        return true;
    served->current = NULL;
    if (old)
        let_go(served, old);
    /* A view that is still open keeps the old files open, and LMDB allows no second opening of the same
     * directory: the first request after that view opens the new one. */
    if (open_current(served, err))
        return true;
    if (why.code != ERROR_NONE)
        *err = why;
    return false;
}

/* The catalogue of the commit that view->txn sees, or of a newer one with a newer transaction. The caller
 * holds the mutex, which is released meanwhile. */
static bool list(struct served *served, struct served_view *view, struct error *err)
{
    struct served_store *store = view->store;
    for (;;) {
        bool waited = store->building;
        while (store->building)
            pthread_cond_wait(&served->built, &served->mutex);
        if (waited) { /* what was built meanwhile is of a later commit than this view, most likely */
            store_end_read(view->txn);
            if (!(view->txn = store_begin_read(store->store, err)))
                return false;
        }
        if (store->catalogue && catalogue_commit(store->catalogue) == store_commit(view->txn)) {
            view->catalogue = catalogue_retain(store->catalogue);
            return true;
        }
        if (store->building)
            continue;
        store->building = true;
        pthread_mutex_unlock(&served->mutex);
        struct catalogue *fresh = catalogue_build(view->txn, err);
        pthread_mutex_lock(&served->mutex);
        store->building = false;
        pthread_cond_broadcast(&served->built);
        if (!fresh)
            return false;
        catalogue_release(store->catalogue);
        store->catalogue = fresh;
        view->catalogue = catalogue_retain(fresh);
        return true;
    }
}

bool served_begin(struct served *served, bool listed, struct served_view *view, struct error *err)
{
    *view = (struct served_view){0};
    pthread_mutex_lock(&served->mutex);
    bool ok = refresh(served, err);
    if (ok) {
        view->store = served->current;
        view->store->views++;
        view->db = view->store->store;
        view->txn = store_begin_read(view->store->store, err);
        ok = view->txn && (!listed || list(served, view, err));
    }
    pthread_mutex_unlock(&served->mutex);
    if (!ok)
        served_end(served, view);
    return ok;
}

void served_end(struct served *served, struct served_view *view)
{
    if (!view->store)
        return;
    store_end_read(view->txn);
    catalogue_release(view->catalogue);
    pthread_mutex_lock(&served->mutex);
    view->store->views--;
    let_go(served, view->store);
    pthread_mutex_unlock(&served->mutex);
    *view = (struct served_view){0};
}
