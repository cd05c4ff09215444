import { launchFd, launchScriptPath, type LaunchTools, type LaunchWords } from './launch-script.ts';
import { quote } from './shell-word.ts';
import type { ProcessUser } from './user.ts';

/** What one run of a container needs, ready to be executed. */
export interface LaunchPlan extends LaunchWords {
  readonly user: ProcessUser;
  /** Words put before the command to change user and privileges, `setpriv … --`. None of them comes from outside. */
  readonly prefix: readonly string[];
  /** The command reads from the fifo `stdin` instead of nothing. */
  readonly stdin: boolean;
  /** The command has a terminal. */
  readonly tty: boolean;
}

/** Where the programs are that the scripts call. */
export interface HostTools extends LaunchTools {
  readonly setsid: string;
  readonly sleep: string;
}

/** The programs that make a terminal. */
export interface TerminalTools {
  /** util-linux's: holds the terminal. */
  readonly script: string;
  readonly stty: string;
}

/** What one supervisor is made for. */
export interface SupervisorSettings {
  /** The shell that runs `../command.sh`, see {@link commandScript}. */
  readonly shell: string;
  /** See {@link launchMark}. */
  readonly mark: string;
  /** The command reads from the fifo `stdin`, held open by the process in `holder`, instead of nothing. */
  readonly stdin: boolean;
  /** util-linux's: the command has a terminal, which `script` holds; it needs the fifo then. */
  readonly script?: string;
}

/** The variable that marks every process of a container, also those that leave its group and session. */
export const containerIdVariable = 'PODTENDER_CONTAINER_ID';

/**
 * The script of one container's supervisor: a POSIX shell that outlives the agent. It runs in the directory `run` of the
 * container and speaks through files there:
 *
 * - `claim`: made exclusively first of all, so that a container runs once at most, whoever starts the script;
 * - `pid`: boot id, then the `/proc/PID/stat` lines of the command and of the supervisor, then `ok`;
 * - `stdout`, `stderr`: what the command writes, only ever appended to;
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
 * The script by which the container's first process becomes its launch script, already as leader of a session and process group of its own:
 * it gives up privileges and nothing else. It runs as the agent's user, with an empty environment and no word from outside.
 * It writes `pid` first: whoever reads it may signal the group.
 *
 * @param mark the last word of the command line of every stage, until the container's program has been started: see {@link launchMark}
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

/** Stands on the command line of a container's first process as long as its program has not been started. */
export const launchMark = (containerId: string): string => `podtender-launch:${containerId}`;
