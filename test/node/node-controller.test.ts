import { afterEach, beforeEach, expect, test } from 'vitest';
import { ApiError, type Patch } from '../../src/api/client.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import type { Lease, Node } from '../../src/kube/types.ts';
import { NodeController } from '../../src/node/node-controller.ts';
import type { NodeControllerConfig } from '../../src/node/node-config.ts';
import { machineInfo } from '../../src/node/setters/machine.ts';

const machine = { numCores: 2, memoryCapacity: 1024 ** 3, machineId: 'm', systemUuid: 's', bootId: 'b' };
const random = { float: () => 0.5, uuid: () => 'u', hex: () => 'h' };

/** The server's side: nodes and leases in memory, with what was asked of them. */
class Server {
  node: Node | undefined;
  lease: Lease | undefined;
  readonly log: string[] = [];
  readonly patches: { patch: Patch; subresource: string | undefined }[] = [];
  failing = false;
  /** Renewals of the lease happen, and their answers are lost. */
  losesAnswers = false;
  /** Nodes have resource versions. */
  stampsNodes = false;
  version = 0;
  readonly nodes = {
    get: async (): Promise<Node> => this.#answer('get node', this.node),
    create: async (node: Node): Promise<Node> => {
      if (this.node)
        throw new ApiError(409, { reason: 'AlreadyExists', message: 'nodes "n" already exists' });
      this.#check('create node');
      const made = { ...node, metadata: { ...node.metadata, uid: 'node-uid' } };
      this.node = this.stampsNodes ? this.#stamp(made) : made;
      return this.node;
    },
    patch: async (_name: string, patch: Patch, options?: { subresource?: string }): Promise<Node> => {
      const node = this.#answer(
        `patch node${options?.subresource === undefined ? '' : '/status'}`,
        this.node,
      );
      this.patches.push({ patch, subresource: options?.subresource });
      const next = merge(node, patch.body) as Node;
      this.node = this.stampsNodes ? this.#stamp(next) : next;
      return this.node;
    },
    delete: async (): Promise<object> => {
      this.#check('delete node');
      this.node = undefined;
      return {};
    },
  };
  readonly leases = {
    get: async (): Promise<Lease> => this.#answer('get lease', this.lease),
    create: async (lease: Lease): Promise<Lease> => {
      this.#check('create lease');
      return (this.lease = this.#stamp(lease));
    },
    update: async (lease: Lease): Promise<Lease> => {
      this.#check('update lease');
      if (lease.metadata?.resourceVersion !== this.lease?.metadata?.resourceVersion)
        throw new ApiError(409, { reason: 'Conflict', message: 'conflict' });
      this.lease = this.#stamp(lease);
      if (this.losesAnswers) throw new ApiError(504, { reason: 'Timeout', message: 'no answer' });
      return this.lease;
    },
  };

  #stamp = <T extends Lease | Node>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(++this.version) },
  });

  touchLease(renewTime: string): void {
    if (this.lease) this.lease = this.#stamp({ ...this.lease, spec: { ...this.lease.spec, renewTime } });
  }

  #check(what: string): void {
    this.log.push(what);
    if (this.failing) throw new ApiError(0, { message: 'away' });
  }

  #answer<T>(what: string, object: T | undefined): T {
    this.#check(what);
    if (!object) throw new ApiError(404, { reason: 'NotFound', message: 'not found' });
    return object;
  }
}

/** As much of a strategic merge as node patches use. */
function merge(base: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) {
    const items = patch as Record<string, unknown>[];
    if (items.some((item) => item['$patch'] === 'replace'))
      return items.filter((item) => !('$patch' in item));
    if (!items.every((item) => typeof item === 'object' && 'type' in item)) return patch;
    const kept = (Array.isArray(base) ? base : []) as Record<string, unknown>[];
    const names = new Set([...kept, ...items].map((item) => item['type']));
    return [...names].map((type) =>
      merge(
        kept.find((item) => item['type'] === type) ?? {},
        items.find((item) => item['type'] === type) ?? {},
      ),
    );
  }
  if (typeof patch !== 'object' || patch === null) return patch;
  const result: Record<string, unknown> = { ...(base as object) };
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$')) continue;
    if (value === null) delete result[name];
    else result[name] = merge(result[name] ?? {}, value);
  }
  return result;
}

let clock: FakeClock;
let server: Server;
let stop: AbortController;
let pingFault: Error | undefined;
const events: string[] = [];

beforeEach(() => {
  clock = new FakeClock(Date.parse('2026-03-04T05:06:07Z'));
  server = new Server();
  stop = new AbortController();
  pingFault = undefined;
  events.length = 0;
});
afterEach(() => {
  stop.abort();
});

function controller(extra: Partial<NodeControllerConfig> = {}): NodeController {
  const provider = {
    ping: async () => {
      if (pingFault) throw pingFault;
    },
  };
  const made = new NodeController('', provider, server.nodes, server.leases, {
    identity: {
      name: 'n',
      hostname: 'n',
      operatingSystem: 'linux',
      architecture: 'amd64',
      labels: { env: 'test' },
    },
    clock,
    random,
    recorder: { event: (_object, type, reason) => void events.push(`${type} ${reason}`) },
    setters: [
      (node) =>
        machineInfo(node, {
          machine,
          maxPods: 110,
          podsPerCore: 0,
          storage: { 'ephemeral-storage': '10Gi' },
          reservation: {},
        }),
    ],
    ...extra,
  });
  void made.run(stop.signal).catch(() => undefined);
  return made;
}

const isThere = (): boolean => server.node !== undefined;
const ready = (): string | undefined =>
  server.node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;

test('the node is registered at once, and ready only after the agent is', async () => {
  const made = controller();
  await clock.advance(30_000);
  expect(server.node?.metadata?.labels).toEqual({
    'beta.kubernetes.io/arch': 'amd64',
    'beta.kubernetes.io/os': 'linux',
    env: 'test',
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/hostname': 'n',
    'kubernetes.io/os': 'linux',
  });
  expect([ready(), made.ready]).toEqual(['False', false]);
  made.notifyAgentReady();
  await clock.advance(0);
  expect([ready(), made.ready]).toEqual(['True', true]);
  expect(events).toContain('Normal NodeReady');
});

test('the lease belongs to the node and is renewed every quarter of its duration', async () => {
  controller();
  await clock.advance(0);
  expect(server.lease).toMatchObject({
    metadata: {
      name: 'n',
      namespace: 'kube-node-lease',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'node-uid' }],
    },
    spec: { holderIdentity: 'n', leaseDurationSeconds: 40, renewTime: '2026-03-04T05:06:07.000000Z' },
  });
  await clock.advance(10_200);
  expect(server.lease?.spec?.renewTime).toBe('2026-03-04T05:06:17.200000Z');
  await clock.advance(10_200);
  expect(server.log.filter((entry) => entry === 'update lease')).toHaveLength(2);
});

test('a status without news is not sent before five minutes and the shift have passed', async () => {
  const made = controller();
  made.notifyAgentReady();
  await clock.advance(1000);
  const sent = server.patches.length;
  await clock.advance(290_000);
  expect(server.patches).toHaveLength(sent);
  await clock.advance(20_000);
  expect(server.patches).toHaveLength(sent + 1);
  expect(server.patches.at(-1)?.subresource).toBe('status');
  const at = server.node?.status?.conditions?.[0]?.lastHeartbeatTime;
  expect(server.patches.at(-1)?.patch.body).toEqual({
    status: {
      '$setElementOrder/conditions': [{ type: 'Ready' }],
      conditions: [{ type: 'Ready', lastHeartbeatTime: at }],
    },
  });
});

test('a failing ping makes the node not ready with the reason, at once', async () => {
  const made = controller();
  made.notifyAgentReady();
  await clock.advance(1000);
  pingFault = new Error('the runtime is gone');
  await clock.advance(10_000);
  expect(server.node?.status?.conditions?.[0]).toMatchObject({
    status: 'False',
    reason: 'KubeletNotReady',
    message: 'the runtime is gone',
  });
  pingFault = undefined;
  await clock.advance(10_000);
  expect(ready()).toBe('True');
});

/** A watch of the server's node: `see` lets it catch up. */
function watch(): { readonly see: () => void; readonly node: () => Node | undefined } {
  let seen: Node | undefined;
  return { see: () => void (seen = server.node), node: () => seen };
}

test('what others change of the node is seen in the next round, without a question to the server', async () => {
  const { see, node } = watch();
  const made = controller({ watchedNode: node, leaseDurationSeconds: 0 });
  await clock.advance(0);
  see();
  made.notifyAgentReady();
  await clock.advance(1000);
  const foreign = (capacity: Record<string, string>, unschedulable: boolean): void => {
    server.node = { ...server.node, status: { ...server.node?.status, capacity }, spec: { unschedulable } };
    see();
    server.log.length = 0;
  };
  const own = { ...server.node?.status?.capacity };
  foreign({ ...own, 'example.com/thing': '123' }, true);
  await clock.advance(10_000);
  expect(server.node?.status?.allocatable).toEqual({ ...own, 'example.com/thing': '123' });
  expect(events.at(-1)).toBe('Normal NodeNotSchedulable');
  expect(server.log).toEqual(['patch node/status']);
  foreign(own, false);
  await clock.advance(10_000);
  expect(server.node?.status?.allocatable).toEqual(own);
  expect(events.at(-1)).toBe('Normal NodeSchedulable');
});

test('labels that say what the machine is, and conditions that others made unknown, are mended in the next round', async () => {
  const made = controller({ watchedNode: () => server.node });
  made.notifyAgentReady();
  await clock.advance(1000);
  const { metadata = {}, status = {} } = server.node ?? {};
  const lost = (status.conditions ?? []).map((condition) => ({ ...condition, status: 'Unknown' as const }));
  const labels = { ...metadata.labels, 'kubernetes.io/os': 'plan9', foreign: 'yes' };
  server.node = { metadata: { ...metadata, labels }, status: { ...status, conditions: lost } };
  await clock.advance(10_000);
  expect(ready()).toBe('True');
  expect(server.node.metadata?.labels).toMatchObject({ 'kubernetes.io/os': 'linux', foreign: 'yes' });
  const body = { metadata: { labels: { 'kubernetes.io/os': 'linux' } } };
  expect(server.patches.at(-1)).toMatchObject({ subresource: 'status', patch: { body } });
  const sent = server.patches.length;
  await clock.advance(60_000);
  expect(server.patches).toHaveLength(sent);
});

test('a watch that lags behind what was written here is not believed, one that knows of no node is', async () => {
  const { see, node } = watch();
  server.stampsNodes = true;
  const made = controller({ watchedNode: node, leaseDurationSeconds: 0, registerAgain: true });
  await clock.advance(0);
  see();
  made.notifyAgentReady();
  await clock.advance(1000);
  const sent = server.patches.length;
  expect(ready()).toBe('True');
  await clock.advance(60_000);
  expect(server.patches).toHaveLength(sent);
  server.node = undefined;
  see();
  await clock.advance(10_000);
  expect(isThere()).toBe(true);
});

test('a ping that hangs counts as failed after its time-out', async () => {
  const provider = { ping: () => new Promise<void>(() => undefined) };
  const made = new NodeController('', provider, server.nodes, server.leases, {
    identity: { name: 'n', hostname: 'n', operatingSystem: 'linux', architecture: 'amd64' },
    clock,
    random,
    setters: [],
    localStorage: false,
    pingTimeoutMs: 3000,
  });
  void made.run(stop.signal);
  made.notifyAgentReady();
  await clock.advance(130_000);
  expect(server.node?.status?.conditions?.[0]?.message).toContain('did not answer a ping within 3000 ms');
});

test('a node that was there keeps its foreign labels, taints and unschedulable', async () => {
  server.node = {
    metadata: { name: 'n', uid: 'old', labels: { mine: 'yes', 'kubernetes.io/arch': 'arm64' } },
    spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }] },
  };
  controller();
  await clock.advance(0);
  expect(server.node.spec).toEqual({ unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }] });
  expect(server.node.metadata?.labels).toMatchObject({ mine: 'yes', 'kubernetes.io/arch': 'amd64' });
});

test('sizes of huge pages that a node no longer has are taken out of its status', async () => {
  const amounts = { 'hugepages-3Mi': '9Mi', 'hugepages-2Mi': '4Mi', 'example.com/x': '1' };
  server.node = {
    metadata: { name: 'n', uid: 'old' },
    status: { capacity: amounts, allocatable: amounts },
  };
  const hugePages = [{ pageSizeKib: 2048, count: 1 }];
  const measured = {
    machine: { ...machine, hugePages },
    maxPods: 110,
    podsPerCore: 0,
    storage: {},
    reservation: {},
  };
  const made = controller({ setters: [(node) => machineInfo(node, measured)] });
  made.notifyAgentReady();
  await clock.advance(10_000);
  for (const told of [server.node.status?.capacity, server.node.status?.allocatable]) {
    expect(told).toMatchObject({ 'hugepages-2Mi': '2Mi', 'example.com/x': '1' });
    expect(told).not.toHaveProperty('hugepages-3Mi');
  }
});

test('a node that was cordoned before the start has one event, after its conditions', async () => {
  server.node = {
    metadata: { name: 'n', uid: 'old' },
    spec: { unschedulable: true },
    status: { conditions: [{ type: 'Ready', status: 'False' }] },
  };
  controller({ leaseDurationSeconds: 0 }).notifyAgentReady();
  await clock.advance(30_000);
  expect(events).toEqual(['Normal NodeReady', 'Normal NodeNotSchedulable']);
});

test('a node that was ready stays so over a restart until the agent knows better', async () => {
  server.node = {
    metadata: { name: 'n', uid: 'old' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };
  const made = controller();
  await clock.advance(5000);
  expect(ready()).toBe('True');
  expect(server.patches.every(({ subresource }) => subresource === undefined)).toBe(true);
  made.notifyAgentReady();
  await clock.advance(0);
  expect(ready()).toBe('True');
});

test('registration outlives a server that is away', async () => {
  server.failing = true;
  const made = controller();
  made.notifyAgentReady();
  await clock.advance(20_000);
  server.failing = false;
  await clock.advance(20_000);
  expect(ready()).toBe('True');
  expect(server.lease).toBeDefined();
});

test('a round has five attempts, reports heartbeat failures from the second on, and calls the handler at the end', async () => {
  let failures = 0;
  let told = 0;
  const made = controller({
    onHeartbeatFailure: () => {
      failures++;
    },
    onStatusUpdateError: () => {
      told++;
    },
    leaseDurationSeconds: 0,
    statusReportIntervalMs: 0,
  });
  made.notifyAgentReady();
  await clock.advance(1000);
  server.failing = true;
  server.log.length = 0;
  await clock.advance(10_000);
  expect(server.log).toEqual(['patch node/status', 'get node', 'get node', 'get node', 'get node']);
  expect([failures, told]).toEqual([4, 1]);
});

test('a deleted node is registered again only when that is wanted', async () => {
  for (const registerAgain of [false, true]) {
    server = new Server();
    stop = new AbortController();
    const made = controller({ registerAgain, statusReportIntervalMs: 0 });
    made.notifyAgentReady();
    await clock.advance(1000);
    server.node = undefined;
    await clock.advance(30_000);
    expect(isThere()).toBe(registerAgain);
    stop.abort();
  }
});

test('a lease renewed by another holder indicates a second agent', async () => {
  let told = 0;
  controller({
    onDuplicate: () => {
      told++;
    },
  });
  await clock.advance(5000);
  server.touchLease('2026-03-04T05:06:12.000000Z');
  await clock.advance(10_000);
  expect(told).toBe(1);
  expect(events).toContain('Warning DuplicateNode');
});

test('a renewal of its own whose answer was lost is no second agent', async () => {
  let told = 0;
  controller({
    onDuplicate: () => {
      told++;
    },
  });
  await clock.advance(5000);
  const before = server.lease?.spec?.renewTime;
  server.losesAnswers = true;
  await clock.advance(10_000);
  server.losesAnswers = false;
  await clock.advance(10_000);
  expect(server.lease?.spec?.renewTime).not.toBe(before);
  expect(told).toBe(0);
});

test('what the node’s own keeper finds counts where the others have nothing to say, and the other way round', async () => {
  let errors: readonly string[] = [];
  const made = controller({ readyFaults: () => ({ runtime: errors }) });
  made.notifyAgentReady();
  await clock.advance(1000);
  expect(ready()).toBe('True');
  pingFault = new Error('gone');
  await clock.advance(30_000);
  const message = (): string | undefined =>
    server.node?.status?.conditions?.find(({ type }) => type === 'Ready')?.message;
  expect([ready(), message()]).toEqual(['False', expect.stringContaining('gone') as string]);
  errors = ['the runtime is away'];
  await clock.advance(10_000);
  expect([ready(), message()]).toEqual(['False', 'the runtime is away']);
});

test.for([
  ['keep', 'True', false, true],
  ['notReady', 'False', false, true],
  ['cordon', 'False', true, true],
  ['delete', undefined, false, false],
] as const)('on stop with policy %s', async ([exitPolicy, status, cordoned, there]) => {
  const made = controller({ exitPolicy });
  made.notifyAgentReady();
  await clock.advance(1000);
  const stopping = made.stop();
  await clock.advance(0);
  await stopping;
  expect([ready(), server.node?.spec?.unschedulable ?? false, server.node !== undefined]).toEqual([
    status,
    cordoned,
    there,
  ]);
  expect(clock.pending).toBe(0);
});

test('a server that does not answer is waited for ten seconds on stop, no longer', async () => {
  const made = controller({ exitPolicy: 'delete' });
  made.notifyAgentReady();
  await clock.advance(1000);
  server.nodes.delete = () => new Promise(() => undefined);
  let stopped = false;
  const stopping = made.stop().then(() => (stopped = true));
  await clock.advance(9999);
  expect(stopped).toBe(false);
  await clock.advance(1);
  await stopping;
  expect(clock.pending).toBe(0);
});
