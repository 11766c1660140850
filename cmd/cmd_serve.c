/* cmd_serve.c - `anchorage serve`: a store in a browser, live. */
#include <signal.h>

#include "cmd/cmd.h"
#include "reports/serve.h"

enum { OPT_STORE, OPT_LISTEN, OPT_HOST };

static const struct command command = {
    .name = "serve",
    .usage = "-s STORE [--listen ADDRESS:PORT]",
    .purpose = "Shows a store in a browser: the report's pages, live, every resource in 3D, and all of it as "
               "JSON under "
               "/api.\nReads only, beside a run that writes; a page that is loaded again shows what was "
               "stored since. "
               "Prints its\naddress and serves until it is interrupted.",
    .options =
        (const struct option_info[]){
            [OPT_STORE] = {"store", 's', "STORE", "the store"},
            [OPT_LISTEN] = {"listen", 0, "ADDRESS:PORT",
                            "where to listen; port 0 takes a free one (default: " SERVE_LISTEN_DEFAULT ")"},
            [OPT_HOST] = {"host", 0, "NAME",
                          "answer requests for this host name, too, not only for addresses"},
            {0},
        },
};

static int serve(const char *store_path, const char *listen, const char *host)
{
    struct error err = {0};
    sigset_t ends;
    int signal_number;
    /* Blocked before the first thread is made: all inherit it, and this one alone waits for them. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    struct api *api = api_open(&(struct api_options){store_path, ANCHORAGE_VERSION, host}, &err);
    struct server *server = api ? serve_start(api, listen, &err) : NULL;
    if (!server) {
        api_close(api);
        return failure(&err);
    }
    if (!serve_is_local(server))
        warning("everybody who reaches %s can read this store", serve_url(server));
    puts(serve_url(server));
    bool told = flush_output();
    if (told)
        sigwait(&ends, &signal_number);
    serve_stop(server);
    api_close(api);
    return told ? EXIT_DONE : EXIT_FAILED;
}

int cmd_serve(int argc, char **argv)
{
    const char *argument, *store_path = NULL, *listen = SERVE_LISTEN_DEFAULT, *host = NULL;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        if (option == OPTIONS_HELP || option == OPTIONS_BAD)
            return option == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
        *(option == OPT_STORE ? &store_path : option == OPT_LISTEN ? &listen : &host) = argument;
    }
    if (!store_path)
        return usage_error(&command, "-s STORE is missing");
    if (optind < argc)
        return usage_error(&command, "'%s' is one word too many", argv[optind]);
    return serve(store_path, listen, host);
}
