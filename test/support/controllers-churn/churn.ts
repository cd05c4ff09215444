import { systemClock } from '../../../src/base/clock.ts';
import { isAlreadyExists } from '../../../src/api/client.ts';
import { type Client, kinds } from '../../../src/controller/index.ts';
import { seeded } from '../chaos-proxy.ts';
import { endState } from './end-state.ts';
import { Nodes } from './nodes.ts';
import { Changes, fateOf, Model } from './workloads.ts';

/** How a churn goes. */
export interface ChurnOptions {
  readonly namespace: string;
  readonly seed: number;
  /** How many changes are made. */
  readonly changes: number;
  /** Changes a second. */
  readonly rate: number;
  /** How many objects of each kind there are at most; default 6. */
  readonly places?: number;
  /** How long all may take to converge at the end, s. */
  readonly settleSeconds: number;
  readonly log?: (text: string) => void;
}

/** What a churn has come to. */
export interface ChurnReport {
  readonly changes: number;
  readonly objects: number;
  /** How long it took to converge after the last change, ms. */
  readonly settledMs: number;
  readonly faults: readonly string[];
  readonly state: readonly string[];
}

/**
 * Creates, scales, updates, pauses and deletes workloads, plays nodes for their pods, and waits until all is as the controllers should leave
 * it. The same seed makes the same changes, so the end states of two implementations can be compared.
 */
export async function controllersChurn(client: Client, options: ChurnOptions): Promise<ChurnReport> {
  const { namespace, log = () => undefined } = options;
  await client.create(kinds.Namespace, { metadata: { name: namespace } }).catch((reason: unknown) => {
    if (!isAlreadyExists(reason)) throw reason;
  });
  const nodes = new Nodes(client, fateOf);
  await nodes.start();
  const changes = new Changes(client, namespace);
  const model = new Model(seeded(options.seed), options.places ?? 6);
  for (let made = 0; made < options.changes; made++) {
    changes.begin(model.next());
    if (made % 200 === 199) log(`${made + 1} changes, ${model.objects.size} objects`);
    await systemClock.sleep(1000 / options.rate);
  }
  for (const change of model.end()) changes.begin(change);
  await changes.settled();
  const { pending, state, settledMs } = await settle(client, options);
  await nodes.stop();
  const faults = [...changes.faults, ...nodes.faults, ...pending];
  return { changes: options.changes, objects: model.objects.size, settledMs, faults, state };
}

async function settle(
  client: Client,
  { namespace, settleSeconds }: ChurnOptions,
): Promise<{
  readonly pending: readonly string[];
  readonly state: readonly string[];
  readonly settledMs: number;
}> {
  const since = systemClock.now();
  for (;;) {
    const { lines, pending } = await endState(client, namespace);
    const settledMs = systemClock.now() - since;
    if (pending.length === 0 || settledMs > settleSeconds * 1000) return { pending, state: lines, settledMs };
    await systemClock.sleep(1000);
  }
}
