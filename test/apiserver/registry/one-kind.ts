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
        { ...object, metadata: { name: 'one', ...(object['metadata'] as JsonObject | undefined) } },
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
          change,
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
