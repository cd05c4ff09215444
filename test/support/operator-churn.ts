import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { type Client, defineKind, type KubeObject, kinds, newClient } from '../../src/controller/index.ts';
import { mutatePath, validatePath } from '../../src/controller/webhook/index.ts';
import { TestEnvironment } from '../../src/envtest/index.ts';
import { freePort } from '../../src/envtest/webhooks.ts';

interface Memcached extends KubeObject {
  spec: { size?: number };
  status?: { observedGeneration?: number };
}
const Memcached = defineKind<Memcached>({ group: 'cache.example.com', version: 'v1', kind: 'Memcached' });
const operator = join(import.meta.dirname, '../../examples/memcached.ts');
const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'memcacheds.cache.example.com' },
  spec: {
    ...{ group: Memcached.group, scope: 'Namespaced', names: { kind: 'Memcached', plural: 'memcacheds' } },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
      },
    ],
  },
};

/** What a churn did, and what it found wrong at the end. */
export interface OperatorChurnReport {
  readonly kills: number;
  readonly created: number;
  readonly deleted: number;
  readonly refused: number;
  readonly faults: readonly string[];
}

const webhooksAt = (port: number, path: string) => [
  {
    ...{ name: 'memcached.example.com', admissionReviewVersions: ['v1'], sideEffects: 'None' },
    ...{ failurePolicy: 'Fail', timeoutSeconds: 5 },
    clientConfig: { url: `https://127.0.0.1:${port}${path}` },
    rules: [
      {
        ...{ apiGroups: [Memcached.group], apiVersions: ['v1'], resources: ['memcacheds'] },
        operations: ['CREATE', 'UPDATE'],
      },
    ],
  },
];

/** Runs the operator, changes its objects and kills it at random until it was killed `kills` times; then waits until all is as it should be. */
export async function operatorChurn(
  kills: number,
  {
    random = Math.random,
    binaries,
    log = () => undefined,
  }: { random?: () => number; binaries?: string; log?: (line: string) => void } = {},
): Promise<OperatorChurnReport> {
  const dir = mkdtempSync(join(tmpdir(), 'pt-operator-'));
  const env = new TestEnvironment({
    ...{ crds: [definition], namespaces: ['ledger'] },
    ...(binaries !== undefined && { binaries }),
  });
  const client = newClient(await env.start());
  const world = new World(client, random);
  let child: ChildProcess | undefined;
  const done = new AbortController();
  try {
    writeFileSync(join(dir, 'kubeconfig'), env.kubeconfig);
    const port = await freePort('127.0.0.1');
    const metadata = { name: 'memcached' };
    await client.create(kinds.MutatingWebhookConfiguration, {
      metadata,
      webhooks: webhooksAt(port, mutatePath(Memcached)),
    });
    await client.create(kinds.ValidatingWebhookConfiguration, {
      metadata,
      webhooks: webhooksAt(port, validatePath(Memcached)),
    });
    const start = () =>
      spawn(
        process.execPath,
        [
          operator,
          '--kubeconfig',
          join(dir, 'kubeconfig'),
          '--webhook-port',
          String(port),
          '--webhook-dir',
          join(dir, 'webhooks'),
        ],
        { stdio: ['ignore', 'ignore', 'inherit'] },
      );
    child = start();
    const changing = world.change(done.signal);
    for (let killed = 0; killed < kills; killed++) {
      await world.served();
      await systemClock.sleep(random() * 400);
      child.kill('SIGKILL');
      await once(child, 'exit');
      log(`kill ${killed + 1} of ${kills}: ${world.summary}`);
      child = start();
    }
    done.abort();
    await changing;
    return { kills, ...world.counts, faults: await world.settled() };
  } finally {
    done.abort();
    if (child) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await client.close();
    await env.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The objects that exist, as they were last written. */
class World {
  readonly counts = { created: 0, deleted: 0, refused: 0 };
  readonly #sizes = new Map<string, number>();
  readonly #client: Client;
  readonly #random: () => number;
  #next = 0;

  constructor(client: Client, random: () => number) {
    this.#client = client;
    this.#random = random;
  }

  get summary(): string {
    return `${this.counts.created} created, ${this.counts.deleted} deleted, ${this.counts.refused} refused`;
  }

  /** Creates, scales and deletes objects until `signal` aborts. What fails while the operator is down is left undone. */
  async change(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#step().catch(() => undefined);
      await systemClock.sleep(20);
    }
  }

  /** Resolves once the operator's webhooks admit an object. */
  async served(): Promise<void> {
    const probe = { metadata: { namespace: 'default', name: 'probe' }, spec: {} };
    const admitted = () =>
      this.#client.create(Memcached, probe, { dryRun: true }).then(
        () => true,
        () => false,
      );
    await until('the webhooks to be served', admitted);
  }

  /** Resolves with what is still wrong after 30 s; nothing as soon as nothing is. */
  async settled(): Promise<readonly string[]> {
    let faults: readonly string[] = [];
    await until('convergence', async () => (faults = await this.#faults()).length === 0).catch(
      () => undefined,
    );
    return faults;
  }

  async #step(): Promise<void> {
    const chance = this.#random();
    const names = [...this.#sizes.keys()];
    const name = names[Math.floor(this.#random() * names.length)];
    if (chance < 0.1) await this.#refused();
    else if (name === undefined || (chance < 0.5 && names.length < 20)) await this.#create();
    else if (chance < 0.8 || names.length < 6)
      await this.#scale(name); // some are left to check at the end
    else {
      await this.#client.delete(Memcached, { namespace: 'default', name });
      this.#sizes.delete(name);
      this.counts.deleted++;
    }
  }

  async #create(): Promise<void> {
    const name = `m${this.#next++}`;
    const made = await this.#client.create(Memcached, { metadata: { namespace: 'default', name }, spec: {} });
    this.#sizes.set(name, made.spec.size ?? -1); // the webhook sets 1
    this.counts.created++;
  }

  async #scale(name: string): Promise<void> {
    const size = 1 + Math.floor(this.#random() * 9);
    const before = await this.#client.get(Memcached, { namespace: 'default', name });
    const after = await this.#client.update(Memcached, { ...before, spec: { size } });
    this.#sizes.set(name, after.spec.size ?? -1);
  }

  async #refused(): Promise<void> {
    const metadata = { namespace: 'default', name: `large${this.#next++}` };
    await this.#client.create(Memcached, { metadata, spec: { size: 10 } }).then(
      () => this.#sizes.set(metadata.name, -1), // an object that must not be there is a fault at the end
      (reason: unknown) => {
        if (String(reason).includes('at most 9')) this.counts.refused++;
      },
    );
  }

  async #faults(): Promise<readonly string[]> {
    const list = { namespace: 'default' };
    const [owners, children, entries] = [
      await this.#client.list(Memcached, list),
      await this.#client.list(kinds.Deployment, list),
      await this.#client.list(kinds.ConfigMap, { namespace: 'ledger' }),
    ];
    const faults: string[] = [];
    const ledger = entries
      .map(({ metadata }) => metadata?.name)
      .filter((name) => name !== 'kube-root-ca.crt');
    const nameOf = ({ metadata }: KubeObject) => metadata?.name ?? '';
    const same = (what: string, found: readonly (string | undefined)[]) => {
      const expected = [...this.#sizes.keys()].sort().join(' ');
      if (found.toSorted().join(' ') !== expected)
        faults.push(`${what}: ${found.toSorted().join(' ')}, expected ${expected}`);
    };
    same('objects', owners.map(nameOf));
    same('Deployments', children.map(nameOf));
    same(
      'entries of the ledger',
      ledger.map((name) => name?.replace(/^default-/, '')),
    );
    for (const child of children) {
      const owner = owners.find(
        ({ metadata }) => metadata?.uid === child.metadata?.ownerReferences?.[0]?.uid,
      );
      const expected = this.#sizes.get(nameOf(child));
      if (!owner || child.spec?.replicas !== expected)
        faults.push(
          `Deployment ${nameOf(child)}: ${child.spec?.replicas ?? 0} replicas, expected ${expected ?? 'none'}`,
        );
    }
    for (const { metadata, status } of owners)
      if (status?.observedGeneration !== metadata?.generation)
        faults.push(`${metadata?.name ?? ''}: the status is old`);
    return faults;
  }
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (let left = 600; !(await condition()); left--) {
    if (left === 0) throw new Error(`${what}: not within 30 s`);
    await systemClock.sleep(50);
  }
}
