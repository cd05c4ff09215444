import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Event, Pod } from '../../src/kube/types.ts';
import { removeFolder } from '../support/mounts.ts';
import { type Following, follow, kubectl, type KubectlProgram, Lines, type Outcome } from './kubectl.ts';
import { soon } from '../support/found.ts';

export const program = new URL('../../bin/podtender.mjs', import.meta.url).pathname;

/** What a test says to the command. */
export interface StartOptions {
  readonly dataDir: string;
  readonly manifests?: string;
  readonly args?: readonly string[];
  readonly command?: 'up' | 'run';
  /** How long the first line may take, ms; default 30 s. */
  readonly withinMs?: number;
  /** The user and group that run it; default: those of the test. */
  readonly uid?: number;
}

/** A line of `--output json`. */
export interface Told {
  readonly type: string;
  readonly kubeconfig?: string;
  readonly server?: string;
  readonly pod?: string;
  readonly phase?: string;
  readonly detail?: string;
  readonly ready?: string;
  readonly restarts?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly source?: string;
  readonly pods?: readonly string[];
  readonly about?: { readonly kind: string; readonly namespace: string; readonly name: string };
}

/** A running `podtender`, as a user has it: a child process, its lines, its signals. */
export class Podtender {
  readonly child: ChildProcess;
  readonly lines = new Lines();
  readonly stderr = new Lines();
  readonly ended: Promise<number | string>;
  readonly #followings: Following[] = [];
  kubeconfig = '';

  constructor({ dataDir, manifests, args = [], command = 'up', uid }: StartOptions) {
    this.child = spawn(
      process.execPath,
      [
        program,
        command,
        '--data-dir',
        dataDir,
        '--output',
        'json',
        '--node-name',
        'e2e',
        ...(command === 'up' ? ['--port', '0'] : []),
        ...(manifests === undefined ? [] : ['--manifests', manifests]),
        ...args,
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, NODE_OPTIONS: '' },
        ...(uid !== undefined && { uid, gid: uid }),
      },
    );
    for (const [stream, lines] of [
      [this.child.stdout, this.lines],
      [this.child.stderr, this.stderr],
    ] as const)
      if (stream)
        createInterface({ input: stream }).on('line', (line) => {
          lines.push(line);
        });
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        resolve(code ?? signal ?? '');
      });
    });
  }

  /** Starts `podtender up` and waits for its first line. */
  static async up(options: StartOptions): Promise<Podtender> {
    const made = new Podtender(options);
    const first = await Promise.race([
      made.tells(() => true, options.withinMs),
      made.ended.then((code) => {
        throw new Error(`podtender ended with ${code}: ${made.stderr.all.join('\n')}`);
      }),
    ]);
    made.kubeconfig = first.kubeconfig ?? '';
    return made;
  }

  get told(): readonly Told[] {
    return this.lines.all.map((line) => JSON.parse(line) as Told);
  }

  /** The first line that fits, past or to come. */
  async tells(fits: (told: Told) => boolean, timeoutMs = 30_000, from = 0): Promise<Told> {
    return JSON.parse(
      await this.lines.waitFor((line) => fits(JSON.parse(line) as Told), timeoutMs, from),
    ) as Told;
  }

  kubectl(args: readonly string[], input = '', using?: KubectlProgram): Promise<Outcome> {
    return kubectl(this.kubeconfig, args, { input, ...(using && { program: using }) });
  }

  /** A kubectl command that must succeed; returns what it printed. */
  async ok(args: readonly string[], input = '', using?: KubectlProgram): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl(args, input, using);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  /**
   * Waits until the API server reaches the kubelet API of this agent's node. After a restart the Node and its pods read Ready
   * from the life before, and the Node names the port of then.
   */
  async nodeAnswers(): Promise<void> {
    let last = '';
    const isWell = async (): Promise<boolean> => {
      const { code, stdout, stderr } = await this.kubectl([
        'get',
        '--raw',
        '/api/v1/nodes/e2e/proxy/healthz',
      ]);
      last = `${stderr}${stdout}`;
      return code === 0 && stdout === 'ok';
    };
    await soon('the node answers', isWell, { withinMs: 30_000, otherwise: () => last });
  }

  follow(args: readonly string[], using?: KubectlProgram): Following {
    const following = follow(this.kubeconfig, args, using);
    this.#followings.push(following);
    return following;
  }

  /** Every state of every pod as a watch tells it, from the first there is. */
  watchPods(): PodWatch {
    return new PodWatch(this.follow(['get', '--raw', '/api/v1/pods?watch=true']));
  }

  async pod(name: string): Promise<Pod> {
    return JSON.parse(await this.ok(['get', 'pod', name, '-o', 'json'])) as Pod;
  }

  async events(): Promise<readonly Event[]> {
    const list = JSON.parse(await this.ok(['get', 'events', '-A', '-o', 'json'])) as {
      items: readonly Event[];
    };
    return list.items;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it for good, whatever state it is in. */
  async end(): Promise<void> {
    for (const following of this.#followings) following.stop();
    this.signal('SIGINT');
    this.signal('SIGINT');
    const late = setTimeout(() => {
      this.signal('SIGKILL');
    }, 10_000);
    await this.ended;
    clearTimeout(late);
  }
}

interface PodEvent {
  readonly type: string;
  readonly object: Pod;
}

/** A watch of pods, made to be waited for. */
export class PodWatch {
  readonly #following: Following;

  constructor(following: Following) {
    this.#following = following;
  }

  /** Everything that was told of one pod. */
  history(name: string): readonly PodEvent[] {
    return this.#following.lines.all
      .map((line) => JSON.parse(line) as PodEvent)
      .filter(({ object }) => object.metadata?.name === name);
  }

  /** The first event of that pod that fits, past or to come. */
  async until(name: string, fits: (pod: Pod, type: string) => boolean, timeoutMs = 30_000): Promise<Pod> {
    const line = await this.#following.lines.waitFor((text) => {
      const { type, object } = JSON.parse(text) as PodEvent;
      return object.metadata?.name === name && fits(object, type);
    }, timeoutMs);
    return (JSON.parse(line) as PodEvent).object;
  }
}

/** The states of a history in words, each change once: `Pending c=ContainerCreating`, `Running c=running ready`. */
export function states(history: readonly PodEvent[]): readonly string[] {
  const all = history.map(({ type, object }) => (type === 'DELETED' ? 'gone' : stateText(object)));
  return all.filter((text, index) => text !== all[index - 1]);
}

/** Those of `wanted` that do not come in this order in `seen`, which may hold more in between. */
export function missingInOrder(seen: readonly string[], wanted: readonly string[]): readonly string[] {
  let at = 0;
  return wanted.filter((one) => {
    const found = seen.indexOf(one, at);
    if (found < 0) return true;
    at = found + 1;
    return false;
  });
}

function stateText({ metadata, status }: Pod): string {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(
    ({ name, state, ready, restartCount }) => {
      const what = state?.running
        ? 'running'
        : (state?.terminated?.reason ?? state?.waiting?.reason ?? 'unknown');
      const exit = state?.terminated ? `:${state.terminated.exitCode}` : '';
      return `${name}=${what}${exit}${ready ? '+ready' : ''}${restartCount > 0 ? `#${restartCount}` : ''}`;
    },
  );
  const deleting = metadata?.deletionTimestamp === undefined ? [] : ['deleting'];
  return [status?.phase ?? 'none', ...deleting, ...containers].join(' ');
}

/** Whether a condition of a pod is true. */
export const condition = (pod: Pod, type: string): string | undefined =>
  pod.status?.conditions?.find((one) => one.type === type)?.status;

/** A directory of its own, gone after the test. */
export function makeDir(prefix = 'podtender-e2e-'): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), prefix));
  return {
    path,
    remove: () => {
      removeFolder(path);
    },
  };
}

/** The live processes whose environment has E2E=`mark`: those that pods of this test run. PID to its pod's name. */
export function processesOf(mark: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const environment = readFileSync(`/proc/${entry}/environ`, 'utf8').split('\0');
      if (environment.includes(`E2E=${mark}`))
        found.set(Number(entry), environment.find((one) => one.startsWith('HOSTNAME='))?.slice(9) ?? '');
    } catch {
      // it has ended, or is somebody else's
    }
  }
  return found;
}

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
