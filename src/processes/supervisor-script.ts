/** What one run of a container needs, ready to be executed. */
export interface LaunchPlan {
  /** The command as the container says it; the first word is found on the container's PATH. */
  readonly argv: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly workingDir: string;
  /** Words put before the command, e.g. `setpriv …` to change the user. */
  readonly prefix: readonly string[];
  /** The command reads from the fifo `stdin` instead of nothing. */
  readonly stdin: boolean;
  /** The command has a terminal. */
  readonly tty: boolean;
}

/** Where the programs are that the script calls; absolute, since the container's PATH is not ours. */
export interface HostTools {
  readonly setsid: string;
  readonly env: string;
  readonly sleep: string;
}

/** The programs that make a terminal. */
export interface TerminalTools {
  /** util-linux's: holds the terminal. */
  readonly script: string;
  readonly stty: string;
}

/** The variable that marks every process of a container, also those that leave its group and session. */
export const containerIdVariable = 'PODTENDER_CONTAINER_ID';

/** Names that a shell keeps for itself: assigning them would fail or change the script. */
const shellNames = new Set(
  'BASHOPTS BASHPID BASH_VERSINFO DIRSTACK ENV EUID FUNCNAME GROUPS IFS LINENO OLDPWD OPTARG OPTIND PPID PS4 PWD RANDOM SHELLOPTS UID _'.split(
    ' ',
  ),
);

/**
 * The script of one container's supervisor: a POSIX shell that outlives the agent. It runs in the directory `run` of the
 * container and speaks through files there:
 *
 * - `claim`: made exclusively first of all, so that a container runs once at most, whoever starts the script;
 * - `pid`: boot id, then the `/proc/PID/stat` lines of the command and of the supervisor, then `ok`;
 * - `stdout`, `stderr`: what the command writes, only ever appended to;
 * - `exit`: the exit code (128+n for signal n), after the whole process group has been killed.
 *
 * @param shell the shell that runs `../command.sh`, see {@link commandScript}
 * @param stdin the command reads from the fifo `stdin`, held open by the process in `holder`, instead of nothing
 * @param script util-linux's: the command has a terminal, which `script` holds; it needs the fifo then
 */
export function supervisorScript(tools: HostTools, shell: string, stdin: boolean, script?: string): string {
  const hold = [
    'exec 3<>stdin',
    `${quote(tools.sleep)} infinity &`,
    'holder=$!',
    'exec 3>&-',
    'echo "$holder" >holder',
  ];
  const start =
    script === undefined
      ? `${quote(tools.setsid)} ${quote(shell)} ../command.sh "$supervisor"`
      : `supervisor="$supervisor" SHELL=${quote(shell)} ${quote(script)} -qefc 'stat=$supervisor; unset supervisor SHELL; exec ${quote(shell)} ../command.sh "$stat"' /dev/null`;
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
 * The script that becomes the container's command by `exec`, already as leader of a session and process group of its own. It
 * writes `pid` at the last moment before: whoever reads it may signal the group.
 */
export function commandScript(plan: LaunchPlan, tools: HostTools): string {
  const plain = [...plan.env].filter(([name]) => isPlainName(name));
  const odd = [...plan.env].filter(([name]) => !isPlainName(name));
  const command = [
    ...(odd.length > 0 ? [tools.env, ...odd.map(([name, value]) => `${name}=${value}`)] : []),
    ...plan.prefix,
    ...plan.argv,
  ];
  return [
    'read -r boot </proc/sys/kernel/random/boot_id',
    'read -r self </proc/self/stat',
    `printf '%s\\n' "$boot" "$self" "$1" ok >pid`,
    `cd ${quote(plan.workingDir)} || exit 126`,
    ...plain.map(([name, value]) => `export ${name}=${quote(value)}`),
    `exec ${command.map(quote).join(' ')}`,
    '',
  ].join('\n');
}

/** One word of shell, whatever is in it. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) && !/^[\w]+=/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function isPlainName(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name) && !shellNames.has(name);
}
