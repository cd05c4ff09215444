import { describe, expect, test } from 'vitest';
import { processWorld } from '../../../src/app/conformance-process-worlds.ts';
import type { ProviderContext } from '../../../src/agent/provider-context.ts';
import {
  type AgentAround,
  type MakeWorld,
  providerClauses,
  runClause,
} from '../../../src/conformance/index.ts';
import type { LogOptions, PodProvider, SyncPodRequest } from '../../../src/provider/index.ts';
import type { Pod } from '../../../src/kube/types.ts';

type Change = (provider: Required<Pick<PodProvider, Used>> & PodProvider) => Partial<PodProvider>;
type Used = 'execSync' | 'exec' | 'attach' | 'readLogs' | 'portForward';

const withoutHook = (pod: Pod, hook: 'postStart' | 'preStop'): Pod => ({
  ...pod,
  spec: {
    ...pod.spec,
    containers: (pod.spec?.containers ?? []).map(({ lifecycle, ...container }) => {
      const { [hook]: _, ...left } = lifecycle ?? {};
      return { ...container, lifecycle: left };
    }),
  },
});

/** Reads logs as if some of the options had not been passed. */
const deafTo =
  (...names: readonly (keyof LogOptions)[]): Change =>
  (p) => ({
    readLogs: (container, options, sink, signal) => {
      const heard = Object.fromEntries(
        Object.entries(options).filter(([name]) => !names.includes(name as keyof LogOptions)),
      );
      return p.readLogs(container, heard, sink, signal);
    },
  });

/** Runs the clauses with a text in their name or area side by side, since they wait for real time. @returns the names of the broken ones */
async function failedClauses(focus: string, make: MakeWorld): Promise<readonly string[]> {
  const clauses = providerClauses.filter(({ name, area }) => name.includes(focus) || area === focus);
  const results = await Promise.all(clauses.map((clause) => runClause(clause, make)));
  return results.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
}

/** Says that pods are at another address. */
const elsewhere: Change = (p) => {
  const moved = <T extends object>(status: T) => ({ ...status, ips: ['192.0.2.1'] });
  const listed = p.getListedPodStatus?.bind(p);
  return {
    getPodStatus: async (...call) => moved(await p.getPodStatus(...call)),
    ...(listed && { getListedPodStatus: async (...call) => moved(await listed(...call)) }),
  };
};

/** What is broken, the clause that catches it, the text in the names of the clauses that are run, and how it is broken. */
const mutants: readonly (readonly [what: string, clause: string, focus: string, change: Change])[] = [
  [
    'skips postStart',
    'post-start-runs',
    'post-start',
    (p) => ({
      syncPod: (r: SyncPodRequest, s) => p.syncPod({ ...r, pod: withoutHook(r.pod, 'postStart') }, s),
    }),
  ],
  [
    'says nothing of a failed postStart',
    'failed-post-start-ends-it',
    'post-start',
    (p) => ({
      syncPod: async (r, s) => {
        const answer = await p.syncPod(r, s);
        return { ...answer, results: answer.results.map(({ reason: _, ...result }) => result) };
      },
    }),
  ],
  [
    'skips preStop',
    'pre-stop-comes-first',
    'pre-stop',
    (p) => ({
      killPod: (pod, running, grace, signal) =>
        p.killPod(pod && withoutHook(pod, 'preStop'), running, grace, signal),
    }),
  ],
  [
    'grants preStop more than the grace period',
    'pre-stop-has-the-grace-period',
    'pre-stop',
    (p) => ({
      killPod: (pod, running, grace = 30, signal) => p.killPod(pod, running, grace + 7, signal),
    }),
  ],
  [
    'answers all commands with 0',
    'exec-exit-codes-are-real',
    'exec-',
    (p) => ({ execSync: async (...call) => ({ ...(await p.execSync(...call)), exitCode: 0 }) }),
  ],
  [
    'loses the standard error of commands',
    'exec-output-is-whole',
    'exec-',
    (p) => ({
      execSync: async (...call) => ({ ...(await p.execSync(...call)), stderr: Buffer.alloc(0) }),
    }),
  ],
  [
    'has no deadline for commands',
    'exec-has-a-deadline',
    'exec-',
    (p) => ({ execSync: (container, command) => p.execSync(container, command, 60_000) }),
  ],
  [
    'reads no standard input',
    'exec-streams-both-ways',
    'exec-',
    (p) => ({
      exec: (container, command, { stdin: _, ...io }, signal) => p.exec(container, command, io, signal),
    }),
  ],
  [
    'drops lines of logs',
    'logs-are-whole',
    'log',
    (p) => ({
      readLogs: (container, options, sink, signal) =>
        p.readLogs(
          container,
          options,
          (bytes) => sink(Buffer.from(bytes.toString().replace('two\n', ''))),
          signal,
        ),
    }),
  ],
  ['has no tail of logs', 'logs-have-a-tail', 'log', deafTo('tailLines')],
  ['has no times of lines', 'logs-have-timestamps', 'log', deafTo('timestamps')],
  ['begins logs at their beginning', 'logs-since', 'log', deafTo('sinceTime')],
  ['follows no logs', 'followed-logs-end', 'log', deafTo('follow')],
  [
    'loses the logs of what has ended',
    'logs-outlive-the-container',
    'log',
    (p) => ({
      readLogs: async (container, options, sink, signal) => {
        const { podUid: uid, pod: name, namespace, id } = container;
        const { containerStatuses } = await p.getPodStatus({ uid, name, namespace });
        const isGone = containerStatuses.some((one) => one.id === id && one.state === 'exited');
        if (!isGone) await p.readLogs(container, options, sink, signal);
      },
    }),
  ],
  [
    'has one log for all instances',
    'logs-are-of-one-instance',
    'log',
    (p) => ({
      readLogs: async (container, options, sink, signal) => {
        const { podUid: uid, pod: name, namespace } = container;
        const [newest] = (await p.getPodStatus({ uid, name, namespace })).containerStatuses;
        await p.readLogs({ ...container, id: newest?.id ?? '' }, options, sink, signal);
      },
    }),
  ],
  [
    'attaches to nothing',
    'attach-shows-output',
    'attach',
    (p) => ({
      attach: (container, { stdout: _, ...io }, signal) => p.attach(container, io, signal),
    }),
  ],
  [
    'holds forwards to nowhere open',
    'forwards-to-nowhere-end',
    'forwards',
    () => ({ portForward: () => new Promise(() => undefined) }),
  ],
  [
    'forwards to the port next to it',
    'forwards-reach-the-pod',
    'forwards',
    (p) => ({ portForward: (pod, port, ...call) => p.portForward(pod, port + 1, ...call) }),
  ],
  [
    'has no terminals',
    'exec-has-a-terminal',
    'terminal',
    (p) => ({
      exec: (container, command, io, signal) => p.exec(container, command, { ...io, tty: false }, signal),
    }),
  ],
  [
    'ignores the sizes of terminals',
    'terminals-are-resized',
    'terminal',
    (p) => ({
      exec: (container, command, { resize: _, ...io }, signal) => p.exec(container, command, io, signal),
    }),
  ],
  [
    'has only the logs of the newest',
    'previous-logs',
    'logs',
    (p) => ({
      readLogs: async (container, options, sink, signal) => {
        const { podUid: uid, pod: name, namespace, id } = container;
        const { containerStatuses } = await p.getPodStatus({ uid, name, namespace });
        const newest = Math.max(...containerStatuses.map(({ restartCount }) => restartCount));
        const isNewest = containerStatuses.some((one) => one.id === id && one.restartCount === newest);
        if (isNewest) await p.readLogs(container, options, sink, signal);
      },
    }),
  ],
  ...(['http', 'tcp', 'grpc'] as const).map(
    (kind) =>
      [
        `has the address of another for ${kind} probes`,
        `${kind}-probes-decide`,
        `${kind}-probes-decide`,
        elsewhere,
      ] as const,
  ),
];

type Helper = ProviderContext['helper'];
type RunOptions = Awaited<ReturnType<Helper['generateRunContainerOptions']>>;
type HelperChange = (made: () => Promise<RunOptions>) => Promise<RunOptions>;

const ofVariables =
  (keeps: (name: string) => boolean): HelperChange =>
  async (made) => {
    const options = await made();
    return { ...options, envs: options.envs?.filter(({ name }) => keeps(name)) ?? [] };
  };

/** Agents that hand containers something else than they should. */
const helped: readonly (readonly [what: string, clause: string, change: HelperChange])[] = [
  ['loses secrets in the environment', 'environment-from-objects', ofVariables((name) => name !== 'BY_KEY')],
  ['knows no fields of pods', 'environment-from-the-pod', ofVariables((name) => name !== 'LABEL')],
  ['knows no services', 'service-links', ofVariables((name) => !name.includes('_SERVICE_'))],
  ['mounts nothing', 'volumes-of-objects', async (made) => ({ ...(await made()), mounts: [] })],
  [
    'starts without what is missing',
    'missing-objects-hold-the-start',
    (made) => made().catch(() => ({ envs: [{ name: 'COLOUR', value: 'blue' }] })),
  ],
];

function helpedBy(around: AgentAround | undefined, change: HelperChange): AgentAround {
  if (!around) throw new Error('the process provider has an agent');
  return {
    ...around,
    makeProvider: (context) => {
      const { helper } = context;
      const generateRunContainerOptions: Helper['generateRunContainerOptions'] = (...call) =>
        change(() => helper.generateRunContainerOptions(...call));
      return around.makeProvider({ ...context, helper: { ...helper, generateRunContainerOptions } });
    },
  };
}

/** Clauses that a mutant breaks as well, since its fault is theirs too. */
const also: Readonly<Record<string, readonly string[]>> = {
  'skips postStart': ['failed-post-start-ends-it'],
  'drops lines of logs': [
    'logs-have-a-tail',
    'logs-have-timestamps',
    'logs-since',
    'logs-outlive-the-container',
  ],
  'loses the logs of what has ended': ['logs-are-of-one-instance', 'previous-logs'],
  'has only the logs of the newest': ['logs-are-of-one-instance'],
  'has no terminals': ['terminals-are-resized'],
  'holds forwards to nowhere open': ['forwards-reach-the-pod'],
};

const broken = (provider: PodProvider, members: Partial<PodProvider>): PodProvider =>
  new Proxy<PodProvider>(provider, {
    get(of, name) {
      if (Object.hasOwn(members, name)) return members[name as keyof PodProvider];
      const value: unknown = Reflect.get(of, name, of);
      return typeof value === 'function' ? (value.bind(of) as unknown) : value;
    },
  });

/** How long a law waits for what a broken provider never does, ms. */
const soonMs = 40_000;

// they wait for real time, most of it side by side
describe.concurrent('a process provider', () => {
  test.for(mutants)(
    'that %s is caught by %s',
    { timeout: 600_000 },
    async ([what, clause, focus, change]) => {
      const failed = await failedClauses(focus, async () => {
        const world = await processWorld();
        return {
          ...{ ...world, soonMs },
          provider: broken(world.provider, change(world.provider as Parameters<Change>[0])),
        };
      });
      expect(failed).toContain(clause);
      expect(failed.filter((name) => name !== clause && !also[what]?.includes(name))).toEqual([]);
    },
  );

  test.for(helped)('that %s is caught by %s', { timeout: 600_000 }, async ([, clause, change]) => {
    const failed = await failedClauses('volumes and environment', async () => {
      const world = await processWorld();
      return { ...world, soonMs, agent: () => helpedBy(world.agent?.(), change) };
    });
    expect(failed).toEqual([clause]);
  });

  test(
    'that hears nothing of probes is caught by both clauses about that',
    { timeout: 600_000 },
    async () => {
      const failed = await failedClauses('probes', async () => ({
        ...(await processWorld()),
        soonMs,
        useProbes: () => undefined,
      }));
      expect(failed).toEqual(['liveness-restarts', 'failed-startup-restarts']);
    },
  );
});
