import { quote } from './shell-word.ts';

/** How to start a program of a container. All members come from the pod spec. */
export interface LaunchWords {
  /** Command as in the container spec; the first word is searched in the container's PATH. */
  readonly argv: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly workingDir: string;
  /** Root directory of the container. */
  readonly root: string;
}

/** Absolute paths of the programs that a launch script calls, as the container's PATH is not the host's. */
export interface LaunchTools {
  readonly env: string;
  readonly nice: string;
}

/** File descriptors of a launch script; the program inherits none of them. */
export const launchFd: {
  /** The script, read through `/proc/self/fd`, as its user may have no access to its directory. */
  readonly script: 3;
  /** Receives the exit code of a failed launch. */
  readonly fault: 4;
  /** Receives the pid of the first process on a terminal. */
  readonly leader: 5;
} = { script: 3, fault: 4, leader: 5 };

/** Exit codes of a failed launch, besides 126 and 127, which shells use for a program. */
export const launchCodes: { readonly directory: 125 } = { directory: 125 };

/** Path of the launch script on the command line of its shell. */
export const launchScriptPath = '/proc/self/fd/3';

/** Variables that shells reserve: assigning them would fail, change the value or change the script's behaviour. */
const shellNames = new Set(
  (
    'COMP_CWORD COMP_WORDBREAKS COMP_WORDS COPROC DIRSTACK ENV EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME FUNCNEST GLOBIGNORE GROUPS ' +
    'HISTCMD HISTCONTROL HISTFILE HISTSIZE IFS IGNOREEOF LINENO MAIL MAILCHECK MAILPATH OLDPWD OPTARG OPTERR OPTIND POSIXLY_CORRECT ' +
    'PPID PROMPT_COMMAND PS1 PS2 PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM TIMEFORMAT TMOUT UID _'
  ).split(' '),
);

/** True when every shell can hold the variable and export it unchanged. */
const isShellName = (name: string): boolean =>
  /^[A-Za-z_]\w*$/.test(name) && !shellNames.has(name) && !name.startsWith('BASH');

/**
 * Returns the script that becomes a program of a container by `exec`. It runs with the container's user, privileges and an empty
 * environment, so external input in it can do no more than the program itself. Its current directory is the container's
 * root directory.
 *
 * @param program path to run in place of a name that a shell would parse as an option
 */
export function launchScript(words: LaunchWords, tools: LaunchTools, program?: string): string {
  const plain = [...words.env].filter(([name]) => isShellName(name));
  const odd = [...words.env].filter(([name]) => !isShellName(name));
  const argv = program === undefined ? words.argv : [program, ...words.argv.slice(1)];
  const command = [
    ...(odd.length > 0 ? [tools.env, '--', ...odd.map(([name, value]) => `${name}=${value}`)] : []),
    // `env` would parse a program path that contains `=` as a variable.
    ...(odd.length > 0 && argv[0]?.includes('=') === true ? [tools.nice, '-n', '0', '--'] : []),
    ...argv,
  ];
  return [
    `exec ${launchFd.script}<&- 6>&2 2>/dev/null`,
    'shopt -s execfail', // without it, bash would exit without its trap; other shells do not have it
    `trap 'echo "$?" >&${launchFd.fault}' EXIT`,
    ...(words.workingDir === words.root
      ? []
      : [`cd ${quote(fromRoot(words))} || exit ${launchCodes.directory}`]),
    'unset SHELL',
    ...plain.map(([name, value]) => `export ${name}=${quote(value)}`),
    `{ exec ${command.map(quote).join(' ')}; } 2>&6 6>&- ${launchFd.fault}>&-`,
    'exit "$?"',
    '',
  ].join('\n');
}

/** Returns the working directory relative to the root, as the user may have no access to the root's parent directories. */
function fromRoot({ workingDir, root }: LaunchWords): string {
  return workingDir.startsWith(`${root}/`) ? `.${workingDir.slice(root.length)}` : workingDir;
}

/** Returns the message of a failed start as by runc, which users and tools know. */
export const startFault = (fault: string): string => `unable to start container process: ${fault}`;
