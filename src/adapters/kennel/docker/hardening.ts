import type { HostConfig, MountSettings } from 'dockerode';
import { INSIDE } from '../../../contracts/kennel.ts';
import type { MountedSkill } from '../skill-folders.ts';

/** What a container may use of its host. */
export interface Limits {
  memoryMb: number;
  cpus: number;
  pids: number;
  /** processors of the host; the engine refuses a container that asks for more */
  hostCpus: number;
}

interface Walls {
  limits: Limits;
  user: { uid: number; gid: number };
  mounts: MountSettings[];
  /** a HOME that is removed with the container; unset when HOME is in a mount */
  emptyHome?: string;
  /**
   * `none`: output is read as it comes and never stored by the engine; `short`: its last part is kept, to find out why
   * it died; `long`: to be read
   */
  output: 'none' | 'short' | 'long';
}

const KEPT = { short: '256k', long: '10m' };

const MB = 1024 * 1024;

/**
 * The seccomp filter of every container, in the engine's format. The engine's own filter depends on its age. Docker
 * 20.10 allows AF_VSOCK sockets, which no network namespace confines, so that `NetworkMode: none` does not mean none on
 * a virtual machine. Others allow AF_ALG and io_uring, which had kernel vulnerabilities.
 */

/**
 * What programs without privileges need, on x86-64 and arm64. Names that an architecture or the engine does not know
 * are ignored. Left out are calls that a process without capabilities is refused anyway (mounts, modules, clocks,
 * quotas, raw devices), calls that create namespaces, and calls that mostly exploits use: bpf, userfaultfd, keyctl,
 * perf_event_open, io_uring, modify_ldt. 32-bit calls are not allowed, because their socketcall hides its arguments
 * from a filter.
 */
const ALLOWED = `
  accept accept4 access alarm arch_prctl bind brk capget capset chdir chmod chown clock_getres clock_getres_time64 clock_gettime clock_gettime64
  clock_nanosleep clock_nanosleep_time64 close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl
  epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 fadvise64_64 fallocate fchdir
  fchmod fchmodat fchown fchownat fcntl fcntl64 fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstat64 fstatat fstatat64
  fstatfs fstatfs64 fsync ftruncate ftruncate64 futex futex_time64 futex_waitv futimesat get_robust_list get_thread_area getcpu getcwd getdents
  getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit
  getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel
  io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit ioctl ioprio_get ioprio_set kill landlock_add_rule
  landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat listen listxattr llistxattr llseek lremovexattr lseek lsetxattr lstat
  lstat64 madvise membarrier memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mmap2 mprotect mq_getsetattr
  mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink mremap msgctl msgget msgrcv msgsnd msync munlock
  munlockall munmap nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll
  ppoll ppoll_time64 prctl pread64 preadv preadv2 prlimit64 process_vm_readv process_vm_writev pselect6 pselect6_time64 ptrace pwrite64 pwritev
  pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmmsg_time64 recvmsg remap_file_pages removexattr rename renameat renameat2
  restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
  rt_sigtimedwait_time64 rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
  sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
  seccomp select semctl semget semop semtimedop semtimedop_time64 sendfile sendfile64 sendmmsg sendmsg sendto set_robust_list set_thread_area
  set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt
  setuid setxattr shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 socketpair splice stat stat64 statfs statfs64 statx symlink
  symlinkat sync sync_file_range syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime
  timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64 times tkill truncate truncate64 umask uname
  unlink unlinkat utime utimensat utimensat_time64 utimes vfork vmsplice wait4 waitid write writev
  cachestat fchmodat2 futex_requeue futex_wait futex_wake map_shadow_stack mseal
`
  .trim()
  .split(/\s+/);

const ALLOW = 'SCMP_ACT_ALLOW';
const ERRNO = 'SCMP_ACT_ERRNO';
const EPERM = 1;
const ENOSYS = 38;
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK */
const FAMILIES = [1, 2, 10, 16];
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
const NAMESPACES = 0x7e020000;
/** Linux, 32-bit addresses, both also with the uname of old kernels, and the query of the current one */
const PERSONALITIES = [0x0, 0x8, 0x20000, 0x20008, 0xffffffff];

const equals = (value: number) => [{ index: 0, value, op: 'SCMP_CMP_EQ' }];

/** Value of the security option `seccomp=`: JSON. */
export function seccompProfile(): string {
  return JSON.stringify({
    defaultAction: ERRNO,
    defaultErrnoRet: EPERM,
    archMap: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64'].map((architecture) => ({ architecture, subArchitectures: [] })),
    syscalls: [
      { names: ALLOWED, action: ALLOW },
      {
        names: ['clone'],
        action: ALLOW,
        args: [{ index: 0, value: NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
      },
      // its flags are in memory, which a filter cannot read; told that clone3 does not exist, the C library uses clone
      { names: ['clone3'], action: ERRNO, errnoRet: ENOSYS },
      ...FAMILIES.map((family) => ({ names: ['socket'], action: ALLOW, args: equals(family) })),
      ...PERSONALITIES.map((personality) => ({ names: ['personality'], action: ALLOW, args: equals(personality) })),
    ],
  });
}

/**
 * Host settings of every container, in one place: what is inside and what is not. Nothing is left to defaults, because
 * an administrator may have changed them. The user is set separately, in the container's configuration.
 */
export function hostConfig({ limits, user, mounts, emptyHome, output }: Walls): HostConfig {
  const memory = limits.memoryMb * MB;
  const scratch = Math.floor(limits.memoryMb / 2);
  return {
    NetworkMode: 'none',
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges:true', `seccomp=${seccompProfile()}`],
    Privileged: false,
    ReadonlyRootfs: true,
    IpcMode: 'private',
    // reaps orphaned processes, and passes signals on
    Init: true,
    AutoRemove: false,
    RestartPolicy: { Name: 'no' },
    Memory: memory,
    // equal to the memory limit, so no swap
    MemorySwap: memory,
    NanoCpus: Math.round(Math.min(limits.cpus, limits.hostCpus) * 1e9),
    PidsLimit: limits.pids,
    // when the host runs out of memory, a container goes before a database
    OomScoreAdj: 500,
    Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
    // files there count as memory of the container; builds run programs from /tmp
    Tmpfs: {
      '/tmp': `rw,nosuid,nodev,exec,size=${scratch}m,mode=1777`,
      ...(emptyHome
        ? { [emptyHome]: `rw,nosuid,nodev,exec,size=${scratch}m,mode=0700,uid=${user.uid},gid=${user.gid}` }
        : {}),
    },
    Mounts: mounts,
    LogConfig:
      output === 'none'
        ? { Type: 'none', Config: {} }
        : { Type: 'json-file', Config: { 'max-size': KEPT[output], 'max-file': '1' } },
  };
}

/** A folder or file of the host. Fails when it does not exist, unlike `Binds`, which would create a folder of root. */
/** Skills of the owner, where containers find them. */
export const skillMounts = (skills: readonly MountedSkill[] = []): MountSettings[] =>
  skills.map(({ name, folder }) => mount(folder, `${INSIDE.skills}/${name}`, true));

export const mount = (source: string, target: string, readOnly = false): MountSettings => ({
  Type: 'bind',
  Source: source,
  Target: target,
  ReadOnly: readOnly,
  // a mount that the host makes below it later stays outside
  BindOptions: { Propagation: 'rprivate' },
});
