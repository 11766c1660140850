#!/usr/bin/env bats
# Usage: help, versions, wrong words. Data goes to stdout, the rest to stderr.

load helper

@test "help goes to stdout and names every command" {
    run -0 --separate-stderr anchorage --help
    [ -z "$stderr" ]
    for command in run resolve query show export serve inspect cat diff check repair prune corpus bench; do
        [[ $output == *"  $command "* ]]
    done
}

@test "every command has a help that names its options" {
    for command in run resolve query show export serve inspect cat diff check repair prune corpus bench; do
        run -0 anchorage "$command" --help
        [[ $output == "usage: anchorage $command "* ]]
        [[ $output == *--help* ]]
    done
}

@test "no command, an unknown command and unknown options are usage errors" {
    run -2 anchorage
    run -2 --separate-stderr anchorage frobnicate
    [[ $stderr == *frobnicate* ]]
    [ -z "$output" ]
    for command in run resolve query show export serve inspect cat diff check repair prune corpus bench; do
        run -2 --separate-stderr anchorage "$command" --frobnicate
        [[ $stderr == *--frobnicate* ]]
        [ -z "$output" ]
    done
}

@test "useless options are errors, not silence" {
    run -2 anchorage run -s x
    run -2 anchorage run input
    run -2 anchorage run -s x -j 0 input
    run -2 anchorage run -s x --fail-on everything input
    run -2 anchorage query -s x --containers --runs
    run -2 anchorage query -s x --runs --status decoded
    run -2 anchorage export x.bgf -o model.stl
    run -2 anchorage export x.bgf
    run -2 anchorage cat x.bgf#0
    run -2 anchorage corpus -o x --scale -1
}

@test "a store that is not there is said in words, exit 3" {
    for command in "query -s" "check"; do
        run -3 --separate-stderr anchorage $command "$BATS_TEST_TMPDIR/none"
        [[ $stderr == *"$BATS_TEST_TMPDIR/none"* ]]
    done
    [ ! -e "$BATS_TEST_TMPDIR/none" ]
}

@test "a full disk under stdout is noticed" {
    [ -w /dev/full ] || skip "there is no /dev/full"
    run -3 sh -c "'$ANCHORAGE' --help >/dev/full"
    [[ $output == *"standard output"* ]]
}

@test "the man page renders without warnings and names every command" {
    command -v man >/dev/null || skip "there is no man"
    run -0 man --warnings -l "$ROOT/man/anchorage.1"
    for command in run resolve query show export serve inspect cat diff check repair prune corpus bench; do
        [[ $output == *"$command"* ]]
    done
    [[ $output != *warning* ]]
}
