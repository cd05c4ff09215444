import { accessSync, constants, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError, messageOf } from '../../base/errors.ts';
import { removeTree } from '../../base/files/remove-tree.ts';
import { hostPrograms } from '../../base/programs.ts';
import { setupScript } from './setup-script.ts';

/** What separates a container from the machine, from the most to the least. */
export type IsolationKind = 'namespaces' | 'bubblewrap' | 'chroot' | 'proot' | 'none';

/** The kinds in the order of preference. `none` is never chosen by itself. */
export const isolationKinds: readonly IsolationKind[] = [
  'namespaces',
  'bubblewrap',
  'chroot',
  'proot',
  'none',
];

/** The isolation of a machine, as detected. */
export interface Isolation {
  readonly kind: IsolationKind;
  /** True when the agent is not root, so that the containers' root is the agent's user. */
  readonly rootless: boolean;
  /** True when containers share their image's files by an overlay file system; otherwise each has a copy. */
  readonly overlay: boolean;
  /** True when volumes are mounted; otherwise containers get copies of small files and other volumes are refused. */
  readonly mounts: boolean;
  readonly tools: IsolationTools;
  /** Why each preferred kind is not there. */
  readonly lacking: readonly string[];
}

/** Absolute paths of the programs. Absent ones are not there. */
export interface IsolationTools {
  readonly unshare?: string;
  readonly nsenter?: string;
  readonly setpriv?: string;
  readonly mount?: string;
  readonly hostname?: string;
  readonly bwrap?: string;
  readonly proot?: string;
}

/** True when containers can have a user other than root: the agent is root, and its programs enter the root directory with privileges. */
export const canBeUser = ({ kind, rootless }: Pick<Isolation, 'kind' | 'rootless'>, uid: number): boolean =>
  uid === 0 || (!rootless && (kind === 'namespaces' || kind === 'chroot' || kind === 'none'));

/** How isolation is detected. */
export interface IsolationSearch {
  /** The kind to use, or `auto` for the best that there is. */
  readonly kind: IsolationKind | 'auto';
  /** A directory on the file system of the containers. */
  readonly dir: string;
  readonly uid: number;
  readonly shell: string;
}

const searchPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

function programs(): IsolationTools {
  const names = ['unshare', 'nsenter', 'setpriv', 'mount', 'hostname', 'bwrap', 'proot'] as const;
  return Object.fromEntries(
    names.flatMap((name) => {
      const path = searchPath.map((directory) => join(directory, name)).find(isExecutable);
      return path === undefined ? [] : [[name, path]];
    }),
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Finds the best isolation that the machine allows by trying it: what a container's start does is done once in an empty directory.
 *
 * @throws {AgentError} `failed_precondition` with the reasons when the wanted kind, or any but `none`, is not there
 */
export async function detectIsolation(search: IsolationSearch): Promise<Isolation> {
  const tools = programs();
  const { kind: requested, uid } = search;
  const rootless = uid !== 0;
  const lacking: string[] = [];
  const candidates = requested === 'auto' ? isolationKinds.filter((kind) => kind !== 'none') : [requested];
  for (const kind of candidates) {
    const fault = await faultOf(kind, tools, search);
    if (fault !== undefined) {
      lacking.push(`${kind}: ${fault}`);
      continue;
    }
    const mounts = kind === 'namespaces' || kind === 'bubblewrap' || kind === 'proot';
    const overlay = kind === 'namespaces' && (await tryNamespaces(tools, search, true)) === undefined;
    return { kind, rootless, overlay, mounts, tools, lacking };
  }
  throw new AgentError(
    'failed_precondition',
    `no isolation for containers: ${lacking.join('; ')}. Install util-linux or bubblewrap, run the agent as root, or allow containers without isolation (ociIsolation: none)`,
  );
}

async function faultOf(
  kind: IsolationKind,
  tools: IsolationTools,
  search: IsolationSearch,
): Promise<string | undefined> {
  switch (kind) {
    case 'namespaces':
      return tryNamespaces(tools, search, false);
    case 'bubblewrap':
      return tools.bwrap === undefined
        ? 'there is no program bwrap'
        : tried(tools.bwrap, [
            '--ro-bind',
            '/',
            '/',
            '--unshare-pid',
            '--unshare-ipc',
            '--unshare-uts',
            '--proc',
            '/proc',
            '--dev',
            '/dev',
            'true',
          ]);
    case 'chroot':
      if (search.uid !== 0) return 'the agent is not root';
      if (tools.setpriv === undefined) return 'there is no program setpriv';
      return tools.unshare === undefined
        ? 'there is no program unshare'
        : tried(tools.unshare, ['--root=/', '--wd=/', '--', 'true']);
    case 'proot':
      return tools.proot === undefined
        ? 'there is no program proot'
        : tried(tools.proot, ['-r', '/', 'true']);
    case 'none':
      return undefined;
  }
}

/** The words that put a command into namespaces of its own. */
export const namespaceWords = (
  { unshare = 'unshare' }: IsolationTools,
  rootless: boolean,
): readonly string[] => [
  unshare,
  ...(rootless ? ['--user', '--map-root-user'] : []),
  ...['--mount', '--uts', '--ipc', '--pid', '--fork', '--kill-child', '--propagation', 'private', '--'],
];

async function tryNamespaces(
  tools: IsolationTools,
  { dir, uid, shell }: IsolationSearch,
  overlay: boolean,
): Promise<string | undefined> {
  const names = ['unshare', 'nsenter', 'setpriv', 'mount'] as const;
  for (const name of uid === 0 ? names : ([...names, 'hostname'] as const))
    if (tools[name] === undefined) return `there is no program ${name}`;
  mkdirSync(dir, { recursive: true, mode: 0o711 });
  const place = mkdtempSync(join(dir, 'probe-'));
  try {
    for (const name of ['lower', 'upper', 'work', 'root']) mkdirSync(join(place, name));
    const writable = join(place, overlay ? 'upper' : 'root');
    for (const name of ['proc', 'sys', 'dev']) mkdirSync(join(writable, name));
    const script = setupScript({
      mount: tools.mount ?? '',
      nameTool: tools.hostname,
      root: join(place, 'root'),
      hostname: 'probe',
      rootless: uid !== 0,
      mounts: [],
      maskedPaths: [],
      readonlyPaths: [],
      readonlyRootfs: false,
      privileged: false,
      ...(overlay && {
        overlay: { lower: join(place, 'lower'), upper: join(place, 'upper'), work: join(place, 'work') },
      }),
    });
    writeFileSync(join(place, 'setup.sh'), script);
    const [file = '', ...args] = namespaceWords(tools, uid !== 0);
    return await tried(file, [...args, shell, join(place, 'setup.sh'), 'true']);
  } finally {
    await removeTree(place);
  }
}

/** Runs a program that should succeed at once. @returns why it did not */
async function tried(file: string, args: readonly string[]): Promise<string | undefined> {
  try {
    await hostPrograms.output(file, args);
    return undefined;
  } catch (cause) {
    return messageOf(cause).trim().split('\n').at(-1);
  }
}
