import { type Client, type Kind, kinds, type KubeObject } from '../../../src/controller/index.ts';
import { rawPatch } from '../../../src/controller/client/patches.ts';
import { isNotFound } from '../../../src/api/client.ts';
import type { Fate, Pod } from './nodes.ts';

/** The kinds that are churned, by the prefix of their objects' names. */
export const churned: Readonly<Record<Churned, Kind>> = {
  deployment: kinds.Deployment,
  stateful: kinds.StatefulSet,
  daemon: kinds.DaemonSet,
  job: kinds.Job,
};
export type Churned = 'deployment' | 'stateful' | 'daemon' | 'job';

const propagations = ['Background', 'Foreground', 'Orphan'] as const;

/** Numbers that a seed decides. */
export type Draw = () => number;
const below = (draw: Draw, most: number): number => Math.floor(draw() * most);

/** True for a Job whose pods fail: every fifth. */
const fails = (job: string): boolean => Number(job.split('-').at(-1)) % 5 === 4;

/** Returns how the pod of a churned object goes on: it runs on, unless it is a Job's. */
export function fateOf({ metadata }: Pod): Fate {
  const job = metadata?.labels?.['batch.kubernetes.io/job-name'];
  if (job === undefined) return 'runs';
  return fails(job) ? 'Failed' : 'Succeeded';
}

/** One change of one object. */
export interface Change {
  readonly kind: Churned;
  readonly name: string;
  readonly what: 'create' | 'scale' | 'update' | 'pause' | 'resume' | 'delete' | 'delete a pod';
  readonly value: number;
}

/** An object of the model. */
interface Modelled {
  readonly kind: Churned;
  readonly name: string;
  paused: boolean;
}

/**
 * The objects as the changes so far leave them, so that each next change is possible. No name comes twice: kube-controller-manager waits five
 * minutes for pods of a deleted object when another one takes its name at once.
 */
export class Model {
  readonly objects = new Map<string, Modelled>();
  #created = 0;
  readonly #draw: Draw;
  readonly #placesOfKind: number;

  constructor(draw: Draw, placesOfKind: number) {
    this.#draw = draw;
    this.#placesOfKind = placesOfKind;
  }

  next(): Change {
    const all = Object.keys(churned) as Churned[];
    const kind = all[below(this.#draw, all.length)] ?? 'deployment';
    const place = `${kind}-${below(this.#draw, this.#placesOfKind)}`;
    const value = below(this.#draw, 1000);
    const object = this.objects.get(place);
    if (!object) {
      const name = `${place}-${this.#created++}`;
      this.objects.set(place, { kind, name, paused: false });
      return { kind, name, what: 'create', value };
    }
    const { name } = object;
    const choices: Change['what'][] = ['scale', 'scale', 'update', 'update', 'delete', 'delete a pod'];
    if (kind === 'deployment' || kind === 'job') choices.push(object.paused ? 'resume' : 'pause');
    const what = choices[below(this.#draw, choices.length)] ?? 'scale';
    if (what === 'delete') this.objects.delete(place);
    if (what === 'pause' || what === 'resume') object.paused = what === 'pause';
    return { kind, name, what, value };
  }

  /** Resumes what is paused, so that all can converge. */
  end(): readonly Change[] {
    return [...this.objects.values()].flatMap(({ kind, name, paused }) =>
      paused ? [{ kind, name, what: 'resume' as const, value: 0 }] : [],
    );
  }
}

/** Makes changes in a namespace, those of one object one after the other. */
export class Changes {
  readonly #client: Client;
  readonly #namespace: string;
  readonly #chains = new Map<string, Promise<unknown>>();
  readonly faults: string[] = [];

  constructor(client: Client, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  begin(change: Change): void {
    const before = this.#chains.get(change.name) ?? Promise.resolve();
    const next = before
      .then(() => this.#make(change))
      .catch((reason: unknown) => {
        this.faults.push(`${change.what} ${change.name}: ${String(reason)}`);
      });
    this.#chains.set(change.name, next);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#chains.values());
  }

  async #make({ kind, name, what, value }: Change): Promise<void> {
    const object = { metadata: { namespace: this.#namespace, name } };
    if (what === 'create') {
      await this.#client.create(churned[kind], newObject(kind, object, value));
      return;
    }
    if (what === 'delete') {
      const propagationPolicy = propagations[value % propagations.length] ?? 'Background';
      return this.#client.delete(churned[kind], object, { propagationPolicy });
    }
    if (what === 'delete a pod') return this.#deletePod(name, value);
    const body = patchOf(kind, what, value);
    if (body) await this.#client.patch(churned[kind], object, rawPatch('merge', body));
  }

  async #deletePod(app: string, value: number): Promise<void> {
    const pods = await this.#client.list(kinds.Pod, { namespace: this.#namespace, labels: { app } });
    const pod = pods[value % Math.max(1, pods.length)];
    if (!pod || app.startsWith('job')) return;
    await this.#client.delete(kinds.Pod, pod).catch((reason: unknown) => {
      if (!isNotFound(reason)) throw reason;
    });
  }
}

const templateOf = (kind: Churned, app: string, version: number): object => ({
  metadata: { labels: { app } },
  spec: {
    containers: [{ name: 'main', image: `churn:${version % 5}` }],
    terminationGracePeriodSeconds: 1,
    ...(kind === 'job' && { restartPolicy: 'Never' }),
  },
});

function newObject(kind: Churned, { metadata }: { metadata: { name: string } }, value: number): KubeObject {
  const template = templateOf(kind, metadata.name, value);
  if (kind === 'job') {
    const completions = 1 + (value % 6);
    const mode = value % 2 === 0 ? 'Indexed' : 'NonIndexed';
    return {
      metadata,
      spec: { template, completions, parallelism: 1 + (value % 3), completionMode: mode, backoffLimit: 1 },
    } as KubeObject;
  }
  const selector = { matchLabels: { app: metadata.name } };
  const size = kind === 'daemon' ? {} : { replicas: value % 6 };
  const service =
    kind === 'stateful'
      ? { serviceName: metadata.name, podManagementPolicy: value % 2 === 0 ? 'Parallel' : 'OrderedReady' }
      : {};
  return { metadata, spec: { selector, template, ...size, ...service } } as KubeObject;
}

function patchOf(kind: Churned, what: Change['what'], value: number): object | undefined {
  if (what === 'pause' || what === 'resume') {
    const isPaused = what === 'pause';
    return { spec: kind === 'job' ? { suspend: isPaused } : { paused: isPaused } };
  }
  if (kind === 'job') return { spec: { parallelism: 1 + (value % 4) } };
  if (what === 'scale') return kind === 'daemon' ? undefined : { spec: { replicas: value % 7 } };
  return { spec: { template: { spec: { containers: [{ name: 'main', image: `churn:${value % 5}` }] } } } };
}
