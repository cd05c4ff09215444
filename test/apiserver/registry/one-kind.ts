import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/apimachinery/json.ts';
import type { Writer } from '../../../src/apimachinery/managed-fields/managed-fields.ts';
import { StatusError } from '../../../src/apimachinery/status-error.ts';
import { Registry } from '../../../src/apiserver/registry/registry.ts';
import type { Strategy } from '../../../src/apiserver/registry/strategy.ts';
import { printers } from '../../../src/apiserver/printers/table.ts';
import type { WriteContext } from '../../../src/apiserver/request/write-context.ts';
import { Store } from '../../../src/apiserver/storage/store.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';

/** The outcome of a write: the object, or the lines of what is wrong with it. */
export interface Outcome {
  readonly object: JsonObject;
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

const uid = '00000000-0000-4000-8000-000000000001';
const now = Date.UTC(2026, 0, 2);

/** A registry of one kind in the memory, as the tests of its rules need it. */
export class OneKind {
  readonly #registry: Registry;
  readonly #namespace: string;

  constructor(strategy: Strategy) {
    this.#registry = new Registry(strategy, new Store());
    this.#namespace = strategy.kind.namespaced ? 'default' : '';
  }

  create(object: JsonObject): Outcome {
    return this.#write((context) =>
      this.#registry.create(
        this.#namespace,
        this.#registry.decode({
          ...object,
          metadata: { name: 'one', ...(object['metadata'] as JsonObject | undefined) },
        }),
        this.#writer,
        context,
      ),
    );
  }

  /** Changes the object named `one`. */
  update(change: (standing: JsonObject) => JsonObject, subresource = ''): Outcome {
    return this.#write(
      (context) =>
        this.#registry.update(
          { namespace: this.#namespace, name: 'one', subresource },
          (standing) => this.#registry.decode(change(standing)),
          this.#writer,
          context,
        ).object,
    );
  }

  get #writer(): Writer {
    return { manager: 'test', operation: 'Update', apiVersion: this.#registry.apiVersion };
  }

  #write(act: (context: WriteContext) => JsonObject): Outcome {
    const warnings: string[] = [];
    const world = {
      store: new Store(),
      clock: new FakeClock(now),
      random: { float: () => 0, uuid: () => uid, hex: () => 'aa' },
      services: { allocate: () => '10.0.0.1', nodePort: () => 30_000 },
    };
    const context = { world, user: { name: 'admin', groups: [] }, now, dryRun: false, warnings } as unknown;
    try {
      return { object: act(context as WriteContext), faults: [], warnings };
    } catch (reason) {
      if (!(reason instanceof StatusError)) throw reason;
      const { causes = [] } = (reason.body['details'] ?? {}) as {
        readonly causes?: readonly { readonly field?: string; readonly message: string }[];
      };
      const lines = causes.map(({ field, message }) => `${field ?? ''}: ${message}`);
      return { object: {}, faults: lines.length > 0 ? lines : [reason.message], warnings };
    }
  }
}

/** Returns the object without the metadata that every object has. */
export function body(object: JsonObject): JsonObject {
  const { metadata, ...rest } = object;
  const { labels, annotations, generation } = metadata as JsonObject;
  const own = Object.entries({ labels, annotations, generation }).filter(([, value]) => value !== undefined);
  return { ...(own.length > 0 && { metadata: Object.fromEntries(own) }), ...rest };
}

/** Returns the cells of an object's row. */
export const cellsOf = (storage: string, object: JsonObject, at = now): readonly unknown[] =>
  printers[storage]?.cells(object, at) ?? [];

/** A pod template with one container. */
export const template = (spec: JsonObject = {}, labels: JsonObject = { app: 'web' }): JsonObject => ({
  metadata: { labels },
  spec: { containers: [{ name: 'c', image: 'web:1' }], ...spec },
});

/** The same template with defaults. */
export const defaulted = (spec: JsonObject = {}, labels: JsonObject = { app: 'web' }): JsonObject => ({
  metadata: { labels },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'web:1',
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'IfNotPresent',
      },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    ...spec,
  },
});

export const selector: JsonObject = { matchLabels: { app: 'web' } };

/** Returns the object with changed members of its spec. */
export const withSpec =
  (members: JsonObject): ((standing: JsonObject) => JsonObject) =>
  (standing) => ({ ...standing, spec: { ...(standing['spec'] as JsonObject), ...members } });

/** Returns the object with another status. */
export const withStatus =
  (status: JsonObject): ((standing: JsonObject) => JsonObject) =>
  (standing) => ({ ...standing, status });

/** Returns the object with the members of a JSON merge patch. */
export function patched(patch: JsonObject): (standing: JsonObject) => JsonObject {
  return (standing) => merge(standing, patch) as JsonObject;
}

function merge(value: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const target = { ...(typeof value === 'object' && !Array.isArray(value) ? value : {}) } as Record<
    string,
    unknown
  >;
  for (const [key, inner] of Object.entries(patch)) target[key] = merge(target[key], inner);
  return target;
}

/** One kind's table: what is created of minimal objects, what is wrong with others, and what updates change. */
export interface KindTable {
  /** Objects, and what they are after their defaults, without the metadata of every object. */
  readonly created?: readonly (readonly [object: JsonObject, created: JsonObject])[];
  readonly rejected?: readonly (readonly [object: JsonObject, faults: readonly string[]])[];
  readonly updates?: {
    readonly of: JsonObject;
    /** Merge patches, of a subresource or of the object, with what is wrong, or the generation after them. */
    readonly patches: readonly (readonly [
      patch: JsonObject,
      subresource: string,
      outcome: readonly string[] | number,
    ])[];
  };
}

/** Defines the tests of one kind's table. */
export function testKind(strategy: Strategy, { created = [], rejected = [], updates }: KindTable): void {
  const { kind } = strategy.kind;
  test.for(created)(`${kind} gets its defaults: %j`, ([object, expected]) => {
    const outcome = new OneKind(strategy).create(object);
    expect(outcome.faults).toEqual([]);
    expect(body(outcome.object)).toEqual(expected);
  });
  test.for(rejected)(`${kind} is rejected: %j`, ([object, faults]) => {
    expect(new OneKind(strategy).create(object).faults).toEqual(faults);
  });
  test.runIf(updates)(`${kind} changes as its rules allow`, () => {
    const objects = new OneKind(strategy);
    expect(objects.create(updates?.of ?? {}).faults).toEqual([]);
    for (const [patch, subresource, expected] of updates?.patches ?? []) {
      const { object, faults } = objects.update(patched(patch), subresource);
      const generation = (object['metadata'] as JsonObject | undefined)?.['generation'];
      expect(faults.length > 0 ? faults : (generation ?? 0), JSON.stringify(patch)).toEqual(expected);
    }
  });
}
