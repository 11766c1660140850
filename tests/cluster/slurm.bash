# slurm.bash - a Slurm cluster of three nodes on this machine, in a directory of its own, for tests.
#
# Daemons run in the foreground as children of this shell, with their own ports, munge key and socket, so that they are
# found by their pids and nothing else of the machine is touched. cluster_start DIR; cluster_stop. After cluster_start
# SLURM_CONF is set and sbatch, squeue and scontrol work.

CLUSTER_NODES=3

cluster_possible() { # says why not
    local tool
    for tool in munged slurmctld slurmd sbatch; do
        PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "$tool is not installed"; return 1; }
    done
    [ "$(id -u)" = 0 ] || { echo "daemons need root"; return 1; }
}

cluster_config() { # cluster_config DIR PORT
    local host node
    host=$(hostname)
    cat <<EOF
ClusterName=anchorage
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$2
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$1/munge/sock,cred_expire=5
StateSaveLocation=$1/state
SlurmdSpoolDir=$1/spool.%n
SlurmctldPidFile=$1/pid/slurmctld
SlurmdPidFile=$1/pid/slurmd.%n
SlurmctldLogFile=$1/log/slurmctld.log
SlurmdLogFile=$1/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MailProg=/bin/true
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=5
MessageTimeout=5
KillWait=2
InactiveLimit=0
MinJobAge=3600
JobRequeue=1
RequeueExit=75
MaxArraySize=10001
MaxJobCount=20000
EOF
    for node in $(seq $CLUSTER_NODES); do
        echo "NodeName=node$node NodeHostname=$host NodeAddr=127.0.0.1 Port=$(($2 + node)) CPUs=1 RealMemory=500 State=UNKNOWN"
    done
    echo "PartitionName=all Nodes=node[1-$CLUSTER_NODES] Default=YES MaxTime=INFINITE State=UP"
}

# cluster_daemon NAME COMMAND...: its pid goes to DIR/pids/NAME. Test files' descriptors are not handed on.
cluster_daemon() {
    local name=$1
    shift
    setsid "$@" >"$CLUSTER/log/$name.out" 2>&1 3>&- 4>&- </dev/null &
    echo $! >"$CLUSTER/pids/$name"
}

cluster_pid() { cat "$CLUSTER/pids/$1"; }
cluster_controller() { cluster_daemon slurmctld slurmctld -D; }
cluster_node() { cluster_daemon "node$1" slurmd -D -N "node$1"; } # cluster_node K

cluster_up() { # waits for all nodes
    local turn
    for turn in $(seq 100); do
        [ "$(sinfo -h -N -t idle,alloc,mix -o %N 2>/dev/null | wc -l)" = $CLUSTER_NODES ] && return
        sleep 0.2
    done
    return 1
}

cluster_start() { # cluster_start DIR
    CLUSTER=$1
    PATH=$PATH:/usr/sbin
    # Ports that differ between clusters that run at the same time.
    local port=$((20000 + ($$ * 10) % 20000)) node
    mkdir -p "$CLUSTER"/{munge,state,pid,pids,log}
    chmod 700 "$CLUSTER/munge"
    dd if=/dev/urandom of="$CLUSTER/munge/key" bs=128 count=1 2>/dev/null
    chmod 400 "$CLUSTER/munge/key"
    cluster_config "$CLUSTER" $port >"$CLUSTER/slurm.conf"
    export SLURM_CONF=$CLUSTER/slurm.conf
    # As root munged takes no directory that others may write to for granted: --force.
    cluster_daemon munged munged --foreground --force --key-file="$CLUSTER/munge/key" \
        --socket="$CLUSTER/munge/sock" --pid-file="$CLUSTER/munge/pid" --log-file="$CLUSTER/munge/log" \
        --seed-file="$CLUSTER/munge/seed"
    for _ in $(seq 50); do [ -S "$CLUSTER/munge/sock" ] && break; sleep 0.1; done
    cluster_controller
    for node in $(seq $CLUSTER_NODES); do
        mkdir -p "$CLUSTER/spool.node$node"
        cluster_node "$node"
    done
    cluster_up
}

# A process and all below it, by pid.
kill_tree() {
    local child
    for child in $(ps -o pid= --ppid "$1" 2>/dev/null); do kill_tree "$child"; done
    kill -9 "$1" 2>/dev/null
    return 0
}

cluster_stop() {
    local name
    [ -n "${CLUSTER:-}" ] || return 0
    scancel --me -f 2>/dev/null
    # Steps outlive their slurmd, so nodes go with all below them and steps by the spool they run in.
    for name in node1 node2 node3 slurmctld munged; do
        [ -e "$CLUSTER/pids/$name" ] && kill_tree "$(cluster_pid $name)"
    done
    for name in $(cluster_steps); do kill_tree "$name"; done
    CLUSTER=
}

# Of the pids on stdin those of this cluster: their environment names its configuration.
cluster_own() {
    local pid
    while read -r pid; do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF" && echo "$pid"
    done
    return 0
}

# The pids of the step daemons of this cluster.
cluster_steps() { ps -eo pid=,comm= | awk '$2 ~ /^slurmstepd/ { print $1 }' | cluster_own; }

# cluster_step JOB: the pid of the daemon of that job's step.
cluster_step() { ps -eo pid=,args= | awk -v job="[$1." '/slurmstepd: / && index($0, job) { print $1 }' | cluster_own | head -n 1; }

# cluster_program WORDS: the pid of the program that runs on this cluster with these words among its arguments.
cluster_program() {
    ps -eo pid=,args= | awk -v words="$1" 'index($0, words) && !/awk|slow/ { print $1 }' | cluster_own | head -n 1
}
