import { quote } from './shell-word.ts';

/** What a program of a container is started with. All of it comes from the pod's author. */
export interface LaunchWords {
  /** The command as the container says it; the first word is found on the container's PATH. */
  readonly argv: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly workingDir: string;
  /** The container's own directory. */
  readonly root: string;
}

/** Where the programs are that a launch script calls; absolute, since the container's PATH is not ours. */
export interface LaunchTools {
  readonly env: string;
  readonly nice: string;
}

/** File descriptors of a launch script; the program inherits none of them. */
export const launchFd: {
  /** The script itself: read through `/proc/self/fd`, since its user need not reach the directory that it lies in. */
  readonly script: 3;
  /** Gets the exit code of a launch that failed. */
  readonly fault: 4;
  /** Gets the number of a terminal's first process. */
  readonly leader: 5;
} = { script: 3, fault: 4, leader: 5 };

/** Exit codes of a launch that failed, besides those by which shells tell of a program: 126 and 127. */
export const launchCodes: { readonly directory: 125 } = { directory: 125 };

/** What a launch script is called on the command line of its shell. */
export const launchScriptPath = '/proc/self/fd/3';

/** Names that shells keep for themselves: assigning them would fail, change the value or change the script. */
const shellNames = new Set(
  (
    'COMP_CWORD COMP_WORDBREAKS COMP_WORDS COPROC DIRSTACK ENV EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME FUNCNEST GLOBIGNORE GROUPS ' +
    'HISTCMD HISTCONTROL HISTFILE HISTSIZE IFS IGNOREEOF LINENO MAIL MAILCHECK MAILPATH OLDPWD OPTARG OPTERR OPTIND POSIXLY_CORRECT ' +
    'PPID PROMPT_COMMAND PS1 PS2 PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM TIMEFORMAT TMOUT UID _'
  ).split(' '),
);

/** Can every shell hold the variable, and pass it on as it is? */
const isShellName = (name: string): boolean =>
  /^[A-Za-z_]\w*$/.test(name) && !shellNames.has(name) && !name.startsWith('BASH');

/**
 * The script that becomes a program of a container by `exec`. It runs as the container's user, with that user's privileges and an empty
 * environment, so whatever the words in it do, they do with no more rights than the program has. Its current directory is the container's
 * root directory.
 *
 * @param program the path to run instead of a name that a shell would take for an option
 */
export function launchScript(words: LaunchWords, tools: LaunchTools, program?: string): string {
  const plain = [...words.env].filter(([name]) => isShellName(name));
  const odd = [...words.env].filter(([name]) => !isShellName(name));
  const argv = program === undefined ? words.argv : [program, ...words.argv.slice(1)];
  const command = [
    ...(odd.length > 0 ? [tools.env, '--', ...odd.map(([name, value]) => `${name}=${value}`)] : []),
    // `env` would take a program with `=` in its path for a variable
    ...(odd.length > 0 && argv[0]?.includes('=') === true ? [tools.nice, '-n', '0', '--'] : []),
    ...argv,
  ];
  return [
    `exec ${launchFd.script}<&- 6>&2 2>/dev/null`,
    'shopt -s execfail', // bash alone would end without its trap; other shells do not know it
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

/** Below the root by a path from there: the user need not be able to reach the directory that the root lies in. */
function fromRoot({ workingDir, root }: LaunchWords): string {
  return workingDir.startsWith(`${root}/`) ? `.${workingDir.slice(root.length)}` : workingDir;
}
