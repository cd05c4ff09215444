import { launchFd, launchScriptPath, type LaunchTools, type LaunchWords } from './launch-script.ts';
import { quote } from './shell-word.ts';
import type { ProcessUser } from './user.ts';

/** How to run a container, ready for execution. */
export interface LaunchPlan extends LaunchWords {
  readonly user: ProcessUser;
  /** Words before the command that change user and privileges, `setpriv … --`. They contain no external input. */
  readonly prefix: readonly string[];
  /** True when the command reads from the FIFO `stdin`; otherwise stdin is empty. */
  readonly stdin: boolean;
  /** True when the command has a terminal. */
  readonly tty: boolean;
}

/** Paths of the programs that the scripts call. */
export interface HostTools extends LaunchTools {
  readonly setsid: string;
  readonly sleep: string;
}

/** The programs that provide a terminal. */
export interface TerminalTools {
  /** util-linux's `script`, which holds the terminal. */
  readonly script: string;
  readonly stty: string;
}

/** Settings of one supervisor. */
export interface SupervisorSettings {
  /** Shell that runs `../command.sh`, see {@link commandScript}. */
  readonly shell: string;
  /** See {@link launchMark}. */
  readonly mark: string;
  /** True when the command reads from the FIFO `stdin`, which the process in `holder` keeps open; otherwise stdin is empty. */
  readonly stdin: boolean;
  /** util-linux's `script`, set when the command has a terminal; requires the FIFO. */
  readonly script?: string;
}

/** Environment variable that marks every process of a container, including those that leave its process group and session. */
export const containerIdVariable = 'PODTENDER_CONTAINER_ID';

/**
 * Returns the script of a container's supervisor: a POSIX shell that outlives the agent. It runs in the container's directory `run`
 * and communicates through files there:
 *
 * - `claim`: created exclusively first, so that a container runs at most once, whoever starts the script;
 * - `pid`: boot id, then the `/proc/PID/stat` lines of the command and of the supervisor, then `ok`;
 * - `stdout`, `stderr`: the command's output, append-only;
 * - `fault`: the exit code of a launch whose program the kernel refused; empty otherwise;
 * - `exit`: the exit code (128+n for signal n), after the whole process group has been killed.
 */
export function supervisorScript(
  tools: HostTools,
  { shell, mark, stdin, script }: SupervisorSettings,
): string {
  const hold = [
    'exec 3<>stdin',
    `${quote(tools.sleep)} infinity &`,
    'holder=$!',
    'exec 3>&-',
    'echo "$holder" >holder',
  ];
  const start =
    script === undefined
      ? `${quote(tools.setsid)} ${quote(shell)} ../command.sh "$supervisor" ${quote(mark)}`
      : `supervisor="$supervisor" SHELL=${quote(shell)} ${quote(script)} -qefc 'stat=$supervisor; unset supervisor SHELL; exec ${quote(shell)} ../command.sh "$stat" ${mark}' /dev/null`;
  return [
    "trap ':' HUP INT QUIT TERM",
    'umask 022',
    'set -C',
    ': >claim',
    'set +C',
    'read -r supervisor </proc/self/stat',
    ...(stdin ? hold : []),
    `${start} ${stdin ? '<stdin' : '</dev/null'} >>stdout 2>>stderr`,
    'code=$?',
    '{ read -r boot; read -r leader rest; } <pid',
    'kill -s KILL -- "-$leader"',
    ...(stdin ? ['kill -s KILL "$holder"'] : []),
    'echo "$code" >exit',
    '',
  ].join('\n');
}

/**
 * Returns the script through which the container's first process becomes its launch script, already as leader of its own session and
 * process group:
 * it only drops privileges. It runs as the agent's user, with an empty environment and without external input.
 * It writes `pid` first: readers of the file may signal the group.
 *
 * @param mark last word on the command line of every stage until the container's program has started: see {@link launchMark}
 */
export function commandScript(prefix: readonly string[], shell: string, mark: string): string {
  const launch = [...prefix, shell, launchScriptPath, mark];
  return [
    'read -r boot </proc/sys/kernel/random/boot_id',
    'read -r self </proc/self/stat',
    `printf '%s\\n' "$boot" "$self" "$1" ok >pid`,
    `exec ${launchFd.script}<../launch.sh ${launchFd.fault}>>fault`,
    'cd ../root || exit 126',
    `exec ${launch.map(quote).join(' ')}`,
    '',
  ].join('\n');
}

/** Marks the command line of a container's first process until its program has started. */
export const launchMark = (containerId: string): string => `podtender-launch:${containerId}`;
