import { isDeepStrictEqual } from 'node:util';
import { type ApiClient, ApiError } from '../../../src/api/client.ts';
import { EventBroadcaster } from '../../../src/api/events/event-recorder.ts';
import { ResourceClient } from '../../../src/api/resource-client.ts';
import { leaseResource, namespaceResource, nodeResource, type Resource } from '../../../src/api/resources.ts';
import type { JsonObject } from '../../../src/apimachinery/json.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { Lease, Node, NodeCondition, NodeStatus } from '../../../src/kube/types.ts';
import { NodeController, nodeLeaseNamespace } from '../../../src/node/node-controller.ts';
import { pressureCondition } from '../../../src/node/setters/conditions.ts';
import { type NodeStatusSetter, withStatus } from '../../../src/node/setters/setter.ts';
import { LocalApi } from '../../../src/conformance/node/local-api.ts';
import { plain as plainNumber } from './raw-numbers.ts';
import type { Deviation, Json, Player, Step, TranscriptCase } from './transcript.ts';

const name = 'node-a';

/** A request of the kubelet, as the API server's audit log had it. */
interface KubeletStep extends Step {
  readonly t: number;
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly code: number;
}

/** What a node said, each thing once, in the order in which it was first said. */
interface Said {
  readonly requests: readonly string[];
  readonly events: readonly string[];
  /** By request. */
  readonly bodies: readonly (readonly [request: string, body: unknown])[];
}

/** The times of a recording are written as `0.0`, too. */
const timed = (steps: readonly Step[] = []): readonly Step[] =>
  steps.map((step) => ({ ...step, t: plainNumber((step as KubeletStep).t) }));

const isOfNode = (step: Step): step is KubeletStep =>
  step.op === 'kubelet' && ['nodes', 'leases', 'events'].includes((step as KubeletStep).resource);

const once = <T>(items: readonly T[]): readonly T[] =>
  items.filter((item, i) => items.findIndex((other) => isDeepStrictEqual(item, other)) === i);

/** What was recorded of the node itself: watches are the informers', and not every Event is about conditions. */
function saidIn(steps: readonly KubeletStep[]): Said {
  const written = steps.filter(({ verb }) => verb !== 'watch');
  const others = written.filter(({ resource }) => resource !== 'events');
  return {
    requests: once(others.map(requestOf)),
    events: once(written.flatMap(eventOf)),
    bodies: once(others.flatMap((step) => bodyOf(requestOf(step), step.body))),
  };
}

const requestOf = ({ verb, resource, subresource, code }: Omit<KubeletStep, 'op' | 't'>): string =>
  `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`} ${code}`;

/** An Event on a condition, as `type reason message`; one that is told again, by its message. */
function eventOf({ resource, body }: Pick<KubeletStep, 'resource' | 'body'>): readonly string[] {
  const { message = '' } = (body ?? {}) as { readonly message?: string };
  return resource === 'events' && message.startsWith(`Node ${name} status is now: `) ? [message] : [];
}

/** What is the machine's own, or the recorder's: sizes, addresses, images, runtimes, and the label it was told to set. */
const ownOfMachine = new Set([
  ...['capacity', 'allocatable', 'addresses', 'daemonEndpoints', 'nodeInfo', 'images', 'runtimeHandlers'],
  ...['features', 'declaredFeatures', 'env', 'managedFields', 'message'],
]);

/** Values that differ between any two runs made equal. */
function plain(value: unknown, key = ''): unknown {
  if (typeof value === 'string')
    return /Time(stamp)?$|^(uid|resourceVersion)$/.test(key) ? `<${key}>` : value;
  if (Array.isArray(value)) return value.map((item) => plain(item, key));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([inner, of]) => of !== undefined && !ownOfMachine.has(inner));
  return Object.fromEntries(kept.sort(([a], [b]) => a.localeCompare(b)).map(([k, v]) => [k, plain(v, k)]));
}

/** Whether a status without news falls into a recording is a matter of chance. */
function isHeartbeat(body: object): boolean {
  const { status: { conditions, ...rest } = {} } = body as {
    readonly status?: Pick<NodeStatus, 'conditions'>;
  };
  return (
    conditions?.every((each) => Object.keys(each).length === 2) === true && Object.keys(rest).length === 1
  );
}

function bodyOf(request: string, body: unknown): readonly (readonly [string, unknown])[] {
  return typeof body === 'object' && body !== null && !isHeartbeat(body) ? [[request, plain(body)]] : [];
}

/** The node's own part of an agent at an API server of its own, on a clock that nobody waits for. */
class NodePlay {
  #serial = 0;
  readonly #clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
  readonly #api = new LocalApi(this.#clock, {
    float: () => 0.5,
    uuid: () => this.#uuid(),
    hex: () => 'abcdef',
  });
  #steps: KubeletStep[] = [];
  /** What was told before the recording begins. */
  #before: readonly string[] = [];
  readonly #startedAt = this.#clock.now();
  #pressures: ReadonlySet<string> = new Set();
  #stop: (() => Promise<void>) | undefined;

  constructor() {
    this.#api.create(namespaceResource, { metadata: { name: nodeLeaseNamespace } }, '');
  }

  #uuid(): string {
    return `00000000-0000-4000-8000-${String(++this.#serial).padStart(12, '0')}`;
  }

  get said(): Said {
    return saidIn(this.#steps);
  }

  get saidBefore(): readonly string[] {
    return this.#before;
  }

  /** Goes on to a moment of the recording, in seconds. */
  async until(t: number): Promise<void> {
    const ms = this.#startedAt + t * 1000 - this.#clock.now();
    if (ms > 0) await this.#clock.advance(ms);
  }

  press(pressures: ReadonlySet<string>): void {
    this.#pressures = pressures;
  }

  /** The recording begins here. */
  begin(): void {
    this.#before = this.said.events;
    this.#steps = [];
  }

  delete(resource: Resource, namespace?: string): void {
    this.#api.delete(resource, { name, ...(namespace !== undefined && { namespace }) }, {});
  }

  /**
   * Starts the node's part of an agent; one that runs ends before.
   *
   * @param isReady before it is registered: the kubelet waits for its CSINode where the Node is new, and for nothing where it was there
   */
  async start(isReady: boolean): Promise<void> {
    await this.end();
    const stopping = new AbortController();
    const client = this.#recorded(this.#api.client());
    const recorder = new EventBroadcaster({ client, clock: this.#clock }, { host: name });
    const controller = new NodeController(
      '',
      { ping: () => Promise.resolve() },
      new ResourceClient<Node>(client, nodeResource),
      new ResourceClient<Lease>(client, leaseResource, nodeLeaseNamespace),
      {
        identity: { name, hostname: name, operatingSystem: 'linux', architecture: 'amd64' },
        clock: this.#clock,
        recorder,
        watchedNode: () => this.#node(),
        setters: this.#setters(),
      },
    );
    if (isReady) controller.notifyAgentReady();
    const running = controller.run(stopping.signal);
    this.#stop = async () => {
      stopping.abort();
      await this.#clock.advance(0);
      await running;
      recorder.stop();
    };
    await this.#clock.advance(500);
    controller.notifyAgentReady();
    await this.#clock.advance(100);
  }

  async end(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
  }

  #node(): Node | undefined {
    try {
      return this.#api.get(nodeResource, { name });
    } catch {
      return undefined;
    }
  }

  #setters(): readonly NodeStatusSetter[] {
    const sizes = { cpu: '2', 'ephemeral-storage': '1Gi', memory: '1Gi', pods: '110' };
    const under = (kind: 'memory' | 'disk' | 'pid', type: string): NodeStatusSetter => {
      return (node, now) => pressureCondition(node, now, kind, this.#pressures.has(type));
    };
    return [
      (node) => ({ node: withStatus(node, { capacity: sizes, allocatable: sizes }) }),
      under('memory', 'MemoryPressure'),
      under('disk', 'DiskPressure'),
      under('pid', 'PIDPressure'),
    ];
  }

  /** The client, with a note of every call and of what came of it. */
  #recorded(client: ApiClient): ApiClient {
    return new Proxy(client, {
      get: (target, verb, self): unknown => {
        const method = Reflect.get(target, verb, self) as unknown;
        if (typeof method !== 'function' || typeof verb !== 'string') return method;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          const answer = await Promise.resolve(Reflect.apply(method, target, args)).then(
            (value: unknown) => ({ code: verb === 'create' ? 201 : 200, value }),
            (reason: unknown) => ({ code: reason instanceof ApiError ? reason.status : 0, reason }),
          );
          this.#note(verb, answer.code, args);
          if ('reason' in answer) throw answer.reason;
          return answer.value;
        };
      },
    });
  }

  #note(verb: string, code: number, args: readonly unknown[]): void {
    const [resource, second, third, fourth] = args as readonly [Resource, Json, Json?, Json?];
    const { subresource } = (verb === 'patch' ? fourth : third) ?? {};
    const body = verb === 'patch' ? third?.['body'] : verb === 'get' ? undefined : second;
    this.#steps.push({
      op: 'kubelet',
      t: (this.#clock.now() - this.#startedAt) / 1000,
      verb,
      code,
      resource: resource.resource,
      ...(typeof subresource === 'string' && { subresource }),
      body: structuredClone(body as JsonObject),
    });
  }
}

/** When the recorded node began anew: it says so, and looks for its lease. */
const startsOf = (steps: readonly KubeletStep[]): readonly number[] =>
  steps
    .filter(({ body }) => ((body ?? {}) as { readonly reason?: string }).reason === 'Starting')
    .map(({ t }) => t);

/** When and to what the recorded node's pressures changed, as it told its server. */
function pressuresOf(steps: readonly KubeletStep[]): readonly (readonly [number, ReadonlySet<string>])[] {
  const now = new Set<string>();
  return steps.flatMap(({ t, verb, resource, body }): [number, ReadonlySet<string>][] => {
    if (resource !== 'nodes' || (verb !== 'patch' && verb !== 'create')) return [];
    const { status } = (body ?? {}) as {
      readonly status?: { readonly conditions?: readonly NodeCondition[] };
    };
    for (const { type, status: is } of status?.conditions ?? [])
      if (is === 'True' && type !== 'Ready') now.add(type);
      else if (is === 'False') now.delete(type);
    return [[t, new Set(now)]];
  });
}

async function playNode(one: TranscriptCase): Promise<NodePlay> {
  const all = timed(one.steps);
  const steps = all.filter(isOfNode).sort((a, b) => a.t - b.t);
  const starts = startsOf(steps);
  const fresh = steps.some(
    ({ verb, resource, code }) => verb === 'create' && resource === 'nodes' && code === 201,
  );
  const actions = all.filter(({ op }) => op === 'action') as KubeletStep[];
  const play = new NodePlay();
  if (!fresh) {
    await play.start(true);
    await play.until(0);
    if (starts.length > 0) await play.end();
    play.begin();
  }
  const changes = pressuresOf(steps);
  const due: (readonly [number, () => void | Promise<void>])[] = [
    ...starts.map((t) => [t, () => startAt(play, changes, t, !fresh)] as const),
    ...changes.map(
      ([t, set]) =>
        [
          t - 0.01,
          () => {
            play.press(set);
          },
        ] as const,
    ),
    ...actions.map(
      ({ t, path = '' }) =>
        [
          t,
          () => {
            deleteAt(play, path);
          },
        ] as const,
    ),
  ];
  for (const [t, act] of due.sort(([a], [b]) => a - b)) {
    await play.until(t);
    await act();
  }
  await play.until((steps.at(-1)?.t ?? 0) + 11);
  await play.end();
  return play;
}

/** A node that begins anew finds the pressures that it will tell of in its first words. */
async function startAt(
  play: NodePlay,
  changes: readonly (readonly [number, ReadonlySet<string>])[],
  t: number,
  isReady: boolean,
): Promise<void> {
  const first = changes.find(([at]) => at >= t);
  if (first) play.press(first[1]);
  await play.start(isReady);
}

function deleteAt(play: NodePlay, path: string): void {
  if (path.includes('/leases/')) play.delete(leaseResource, nodeLeaseNamespace);
  else play.delete(nodeResource);
}

/** What one side said and the other did not. */
function differences(recorded: Said, played: Said): readonly Deviation[] {
  const lists = (['requests', 'events', 'bodies'] as const).flatMap((what) => {
    const [has, shall]: [readonly unknown[], readonly unknown[]] = [played[what], recorded[what]];
    const isIn = (items: readonly unknown[], item: unknown): boolean =>
      items.some((other) => isDeepStrictEqual(other, item));
    return [
      ...shall
        .filter((item) => !isIn(has, item))
        .map((item) => ({ what, expected: item, actual: undefined })),
      ...has
        .filter((item) => !isIn(shall, item))
        .map((item) => ({ what, expected: undefined, actual: item })),
    ];
  });
  return lists.map((each) => ({ ...each, step: -1, path: '' }));
}

/** Plays recordings of what the kubelet says of its node: registration, lease, status and Events on conditions. */
export const kubeletNodePlayer: Player = {
  families: new Set(['kubelet-node']),
  plays: ({ steps = [] }) => steps.every(({ op }) => op !== 'watch'),
  async play(one) {
    const steps = (one.steps ?? []).filter(isOfNode);
    const { said, saidBefore } = await playNode(one);
    const recorded = saidIn(steps);
    // how often an Event is counted once more says nothing
    const events = recorded.events.filter(
      (event) => said.events.includes(event) || !saidBefore.includes(event),
    );
    return differences({ ...recorded, events }, said);
  },
  close: () => Promise.resolve(),
};
